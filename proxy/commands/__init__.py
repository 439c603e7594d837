"""The `linkmend` commands, a module each. Like proxy.main they stand above all other packages and know them all."""
