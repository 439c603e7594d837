"""Backups of a data folder, taken while linkmend runs, and how one is put back.

A backup is a tar inside zstd. Its first member says which format it is, its last one has the length and the digest of
every other: what has no last member was cut short. `data/` holds the folder, `settings/` the settings file and the
rules that lie beside it. Databases are copied by SQLite's own means, each as it was at one moment after the backup
began; the full-text index is left out, since it is made anew from the pages.
"""
