"""A harness that tries to break linkmend: a class that browses while everything around it fails, from one seed.

`lessons` says what the site's pages are, `site` serves them, `badly` serves them badly; `wire` is a strict HTTP
client, `pupils` browse with it, `judge` says whether what they got is right; `school` runs the programs,
`trouble` is what happens to them; `promises` remembers what must not be lost; `run` brings it all together.
"""
