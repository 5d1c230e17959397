"""The way from a sensitive table to a released model, and to the rows that are written."""
