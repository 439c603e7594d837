"""The fetch queue in the admin UI: pages and API. Read `pages` first."""
