"""Backups of a data folder, made while linkmend runs, and how one is restored.

A backup is a tar file compressed with zstd. Its first member names the format; its last member has the length and
the digest of every other, so a file without it was cut short. `data/` holds the folder, `settings/` the settings
file and the rules beside it. Databases are copied by SQLite's backup API, each as it was at one moment after the
backup began. The full-text index is left out, because it can be rebuilt from the pages.
"""
