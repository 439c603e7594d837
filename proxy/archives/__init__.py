"""Web archives as linkmend asks them, and linkmend as a web archive."""
