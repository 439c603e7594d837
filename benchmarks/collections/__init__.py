"""Makes collection folders to train and measure on, from git directories of public sites and Debian packages.

`sites.py` says which sites there are; read it first. `python -m benchmarks.collections rubylang --mirrors DIR --out
DIR` makes one. A site's files (`repository.py`, `debianpackage.py`) become HTML (`markup.py`, `docbook.py`), that
becomes pages at the addresses that the site gives them (`sitepages.py`), and those become a folder with links to
break (`folder.py`), and with links that really broke where the site's history tells of moves (`reallymoved.py`).
"""
