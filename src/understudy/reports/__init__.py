"""Reports as single HTML files: one that may go out with a release, one for the owner of the table
alone.
"""
