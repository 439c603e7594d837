"""Removing a page for good, from everywhere. Read `remover` first."""
