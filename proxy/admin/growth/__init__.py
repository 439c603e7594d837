"""How the collection grows from misses, in the admin UI: page and API. Read `service` first."""
