"""Tables and what is public about them: schemas, files, frames, codes and marginals."""
