"""A client of web archives (Memento, RFC 7089): finds copies of a lost page and chooses one. Start with client."""
