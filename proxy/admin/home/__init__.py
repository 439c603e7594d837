"""The first page of the desk: how today goes, and what to do next. Read `pages` first."""
