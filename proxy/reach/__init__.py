"""Which addresses and ports may be reached, to which site a request belongs, and which sites are not intercepted.

Read `policy` first.
"""
