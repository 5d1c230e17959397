"""Learners with differential privacy and scikit-learn's contract.

They learn from what a curator answers: noisy tables, sums and second moments of features with
public bounds. So they run on rows in memory, inside an engine, or of several holders who trust
nobody. Only perturbation of a logistic regression reads rows itself, once it has paid.
"""

from understudy.learners.kmeans import KMeans
from understudy.learners.linear import LinearRegression, Ridge
from understudy.learners.logistic import LogisticRegression
from understudy.learners.naive_bayes import CategoricalNB, GaussianNB
from understudy.learners.pca import PCA
from understudy.learners.training import DiscoveryTerms, ProtectedUnit, TrainedModel, learn

__all__ = [
    "PCA",
    "CategoricalNB",
    "DiscoveryTerms",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "ProtectedUnit",
    "Ridge",
    "TrainedModel",
    "learn",
]
