"""Reports for a school: what was missed, repaired, fetched and saved in a period. Read `figures.py` first."""
