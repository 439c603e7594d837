"""A client of web archives (Memento, RFC 7089): what they hold of a lost page, and which of it to take."""
