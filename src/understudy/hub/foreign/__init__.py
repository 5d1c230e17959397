"""Algorithms that somebody else wrote: signed packages that run without a row.

A foreign algorithm runs in a process of its own that holds no rows and no handle of a file that
does, only a pipe. What it sends through the pipe are questions to a curator, which stays with the
rows; what it gets are the answers that any method gets, each paid for beforehand.
"""
