"""Users and their privacy: recent pages of each client, per-client data, and what may enter the collection.

Read `clients`, then `harvestpolicy`.
"""
