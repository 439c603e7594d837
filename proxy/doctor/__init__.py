"""Checks of an installation, for `linkmend doctor`; begin with `model.py`. Nothing here changes a file.

Each check is a function that returns findings: what was found, and what to do about it.
"""
