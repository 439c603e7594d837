"""Bytes to pages: encodings, HTML, and the files that can be imported. Start with htmlpage; load chooses the
format.
"""
