"""Bayesian networks: which attribute depends on which, with what probabilities, and how to draw rows from them."""
