"""Learning the ranking; needs scikit-learn, which nothing else in `repair` imports."""
