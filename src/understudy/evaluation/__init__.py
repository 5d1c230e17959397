"""How close is a synthetic table to the real one? For the owner's eyes: it reads private rows."""
