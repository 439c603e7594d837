"""The full-text index and the term vectors over the collection. Start with fulltext."""
