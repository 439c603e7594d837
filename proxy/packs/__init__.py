"""Which saved pages go into a pack, and what of a pack is taken in. `repair.packs` has the formats."""
