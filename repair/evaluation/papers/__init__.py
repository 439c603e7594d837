"""The papers' own models, rebuilt as baselines for evaluation; repairs do not use them. Start with `baselines`.

    singlesources    each source of evidence by each weighting alone (Bashir 2018, section 5; Klein 2011)
    termclassifier   terms of the source page chosen by their nearness to anchor and URL (Bashir, section 6)
    genetic          formulas over the single sources, or over our features, bred for R@1 (Bashir, section 7)
    decision         the decision procedure of Martinez-Romo and Araujo (2011), found in
    `repair.ranking.decisionprocedure`
    sequences        queries from copies, one after the other (Klein 2011, Martinez-Romo and Araujo 2011)
    entrypages       priors of URL type and inlinks, HITS (Westerveld, Kraaij and Hiemstra 2001)

All rank the whole collection, not the candidates that our own model finds. `linkmend evaluate` runs them through
`baselines`. The trained parameters are the JSON files in this folder; `python -m repair.evaluation.papers.learn`
trains them again. `python -m repair.evaluation.papers.tables` prints the figures of the last two.
"""
