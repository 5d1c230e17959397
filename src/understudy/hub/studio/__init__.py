"""The studio: one person, one file, in a browser on the same machine.

It drives the same :class:`~understudy.data.interview.Interview` as the terminal, and releases as
``understudy synthesize`` does. Nothing is listened for beyond this machine.
"""
