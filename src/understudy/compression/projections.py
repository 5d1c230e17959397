"""Projections from scatter matrices: the algebra that exact and private compression share.

With N_l rows of class l, of mean mu_l, and N rows of mean mu in all:

- S = sum over rows of (x - mu) (x - mu)', the scatter of all rows;
- S_B = sum over classes of N_l mu_l mu_l' - N mu mu', that of the classes' means;
- S_W = S - S_B, that within classes.

PCA keeps the directions of the largest eigenvalues of S. DCA (discriminant component analysis)
maximises det(W' S_B W) / det(W' (S_W + rho I) W), and MDR (multiclass discriminant ratio) det(W'
S_BU W) / det(W' (S_BP + rho I) W), for utility labels U against privacy labels P.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]

RIDGE = 0.02
"""rho, as a share of the largest eigenvalue of what is divided by."""

SIGNAL_RIDGE = 0.1
"""rho', as a share of rho."""


@dataclass(frozen=True)
class Projection:
    """Directions, one per line, and what each is worth."""

    components: Matrix
    values: Matrix


def project_pca(scatter: Matrix, number: int) -> Projection:
    """The directions along which rows differ most."""
    return _leading(scatter, np.eye(len(scatter)), number)


def project_dca(
    between: Matrix,
    within: Matrix,
    number: int,
    rho: float | None = None,
    rho_signal: float | None = None,
) -> Projection:
    """The directions along which classes differ most, against the rows of one class.

    S_B + S_W + (rho + rho') I is taken against S_W + rho I: that has the directions of S_B + rho' I
    against S_W + rho I. Beyond the number of classes less one, directions are those of the least
    scatter with rho' above 0 (from which rows cannot be reconstructed), of the most below 0.
    """
    rho, rho_signal = choose_ridges(within, rho, rho_signal)
    identity = np.eye(len(within))
    signal = between + within + (rho + rho_signal) * identity
    return _leading(signal, within + rho * identity, number)


def project_mdr(
    utility: Matrix, privacy: Matrix, number: int, rho: float | None = None
) -> Projection:
    """The directions along which utility classes differ most, against privacy classes."""
    rho, _ = choose_ridges(privacy, rho, 0.0)
    return _leading(utility, privacy + rho * np.eye(len(privacy)), number)


def choose_ridges(
    divisor: Matrix, rho: float | None, rho_signal: float | None
) -> tuple[float, float]:
    """Rho and rho', by default in proportion to the largest eigenvalue."""
    if rho is None:
        rho = RIDGE * float(np.linalg.eigvalsh(divisor)[-1])
    rho = max(rho, 1e-12)
    if rho_signal is None:
        rho_signal = SIGNAL_RIDGE * rho
    return rho, rho_signal


def _leading(signal: Matrix, noise: Matrix, number: int) -> Projection:
    """The first generalised eigenvectors of two symmetric matrices, the second positive."""
    lower = np.linalg.cholesky((noise + noise.T) / 2)
    half = np.linalg.solve(lower, (signal + signal.T) / 2)
    whitened = np.linalg.solve(lower, half.T)
    values, vectors = np.linalg.eigh((whitened + whitened.T) / 2)
    directions = np.linalg.solve(lower.T, vectors[:, ::-1][:, :number]).T
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # the largest entry of a direction is positive, so that signs do not flip at random
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return Projection(directions * signs[:, None], values[::-1][:number])


def between_classes(counts: Matrix, sums: Matrix) -> Matrix:
    """S_B from the number of rows of each class and the sums over them, a line for each class."""
    counts = np.maximum(np.asarray(counts, dtype=np.float64), 1e-12)
    whole = sums.sum(axis=0)
    found: Matrix = (sums.T / counts) @ sums - np.outer(whole, whole) / counts.sum()
    return found


def scatter_of(rows: float, total: Matrix, products: Matrix) -> Matrix:
    """S from the number of rows, their sum and the sum of their products."""
    found: Matrix = products - np.outer(total, total) / max(rows, 1e-12)
    return found


def reconstruct(coordinates: Matrix, components: Matrix) -> Matrix:
    """The rows of the least length that have these coordinates: by least squares."""
    found: Matrix = coordinates @ np.linalg.pinv(components).T
    return found
