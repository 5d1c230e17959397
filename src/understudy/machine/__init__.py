"""What the machine gives: memory, threads and compiled code."""
