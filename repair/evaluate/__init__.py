"""Measuring: our model and the papers' on the links of a collection folder whose answers are known.

bench        a collection in which links are broken, and our model over it
outcomes     every link ranked once by every model
measures     R@k, MRR, nDCG@10, Sim@k, latency, how true confidences are: the report
ablation     the same links with one kind of evidence taken away at a time
repairable   whether the model knows when nothing held is worth offering
sitemoves    whether moves of a site are learnt from some of its pages
"""
