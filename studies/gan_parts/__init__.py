"""Parts of the study of GANs."""
