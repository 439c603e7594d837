"""Whether an answer to one user may be given to others. Start with harmlessfields."""
