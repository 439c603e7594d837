"""Training the ranking model. It needs LightGBM and scikit-learn, which repairs do not. Start with train."""
