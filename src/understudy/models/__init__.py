"""What is released: models, how rows are drawn from them, and questions that they answer."""
