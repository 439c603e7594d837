"""linkmend as a client of web archives (`client`, read it first), and as a web archive (`ownarchive`)."""
