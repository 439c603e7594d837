"""Removing a page for good, from everywhere."""
