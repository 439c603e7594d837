"""A harness that tries to break linkmend: a class that browses while everything around it fails, from one seed.

`lessons` says what the site's pages are, `site` serves them, `badly` serves them badly; `wire` is a strict HTTP
client, `pupils` browse with it, `judge` says whether what they got is right, and `excuses` (with `squidlog`) what
may be to blame; `school` runs the programs, `log` hears what linkmend says, `archive` is one more program, `trouble`
is what happens to them; `promises` remembers what must not be lost; `run` brings it all together, and `report` tells
of it.
"""
