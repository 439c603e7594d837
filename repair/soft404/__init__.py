"""Soft 404s: missing pages answered with 200, found by their text, redirects, probes and known error pages.

    Page -> pageparts (text by place) -> signals (features) -> model (a probability) -> judge (a kind)

`redirects`, `probe` and `sitestore` add what the page alone cannot show; `learn` trains the model.
Start with detector.
"""
