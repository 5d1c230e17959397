"""The experiments of the thesis on distributed private data, part by part."""
