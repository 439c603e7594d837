"""Candidates, features and the models that rank them. Start with learned."""
