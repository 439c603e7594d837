"""What schools of a district learn from each other, in PostgreSQL. Read `schema` first, then `spool`, `reading`."""
