"""Questions to a model: the grammar, conditions on rows, and answers with error bars."""
