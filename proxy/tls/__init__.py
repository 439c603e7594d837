"""Our certificate authority, and whose certificates we trust. Read `certificates` first."""
