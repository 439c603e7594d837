"""The steps by which the district's schema came about, for alembic. Read `versions/v0001_district.py` first."""
