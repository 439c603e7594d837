"""Monitoring of the running linkmend: metrics, health endpoints, recent problems. Read `metrics` first."""
