"""What the PrivBayes paper compares itself with: each method in a file of its own, with its
sensitivity derived there.

All are stated for the paper's neighbours: one row is replaced by another, the number of rows n is
public. Those that take a :class:`~understudy.privacy.mechanisms.Noise` can be run with the noise of
a release; those that take a NumPy generator (PrivateERM, whose noise is a real vector) are for
studies only.
"""
