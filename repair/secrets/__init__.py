"""Secrets in addresses: links that are keys, sessions, names. Start with addresses."""
