"""One estimate of all tables, from many noisy ones."""
