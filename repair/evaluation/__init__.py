"""Evaluation: our model and the papers' models on links of a collection folder whose answers are known.

outcomes     every link ranked once by every model: read this first
measures     R@k, MRR, nDCG@10, Sim@k, latency, how true confidences are: the report
ablation     the same links with one kind of evidence taken away at a time
repairable   whether the model knows when no page is worth offering
compare      whether one model may replace another
sitemoves    whether a site's moves can be learnt from some of its pages
"""
