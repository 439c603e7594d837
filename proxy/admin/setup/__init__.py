"""The set-up on the first visit of the desk: what `linkmend setup` asks, as a form. Read `pages` first."""
