"""Header fields, framing and hop-by-hop fields of HTTP messages (pure). Read `fields` first."""
