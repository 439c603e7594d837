"""The papers' own models, rebuilt to be measured against; none of this is used when links are repaired.

    singles          each source of evidence by each weighting alone (Bashir 2018, section 5; Klein 2011)
    termclassifier   terms of the source page chosen by their nearness to anchor and URL (Bashir, section 6)
    genetic          formulas over the single sources, or over our features, bred for R@1 (Bashir, section 7)
    decision         the decision procedure of Martinez-Romo and Araujo (2011), which stands in `repair.strategy`

All rank the whole collection, not the candidates that our own model finds. `linkmend evaluate` asks them through
`rivals`; what two of them learnt lies beside them as JSON and is learnt anew by `python -m repair.papers.learn`.
"""
