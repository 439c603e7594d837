"""Packs: part of a collection as one file to carry elsewhere, WACZ or ZIM, which other programs read too.

Read `packmodel` first: what goes into a pack, and what is written about it.

packmodel      a pack, its items, and the lists that only linkmend reads
waczwriter     writes WACZ            zimwriter   writes ZIM (needs libzim)
packreader     what a pack says of itself         packstore   which packs pages came from
surt           keys of web archives' indexes      zimlinks    links between the pages of a ZIM
"""
