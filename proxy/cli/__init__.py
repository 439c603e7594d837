"""The `linkmend` commands, one module each. They may import every other package. Read `commands` first."""
