"""The admin UI and API. Read `routing` first: it shows how a feature declares its pages and calls."""
