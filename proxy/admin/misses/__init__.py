"""Dead links in the admin UI: lists, one address, actions, live view, API. Read `pages` first."""
