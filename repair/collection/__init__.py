"""The saved pages, their links and versions, in one SQLite database. Start with collection."""
