"""The login of the admin UI: passwords, sessions, tokens and scopes. Read `middleware`: it guards every route."""
