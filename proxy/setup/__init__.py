"""What `linkmend setup` puts on a machine: settings, password, certificate, service. Read `installation.py` first."""
