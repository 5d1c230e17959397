"""Data sets of several owners who encrypt once, deliver to the hub, and go offline.

The hub is the aggregator of :mod:`understudy.encrypted`: it stores ciphertexts, adds them up, and
asks a crypto service that somebody else runs. What owners agreed on and delivered: ``collecting``;
the operator's word on identity and services: ``aggregator``; a job: ``computing``.
"""
