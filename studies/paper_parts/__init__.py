"""The experiments of the PrivBayes paper, section 6, one file each."""
