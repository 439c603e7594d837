"""Pages that only pretend to be there: told by what they say, by redirects, by asking the site, and by memory.

    Page -> parts (what stands where) -> signals (numbers) -> model (a probability) -> judge (a kind)

`redirects`, `probe` and `sites` add what the page alone cannot tell. `learn` is for training only.
"""
