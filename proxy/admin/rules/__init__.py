"""The rules in the admin UI: pages and API over one service. Read `service` first."""
