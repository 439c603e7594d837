"""What the school teaches, in the admin UI: pages and API. Read `service` first."""
