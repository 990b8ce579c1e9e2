"""What is to be known: metrics on complete labels."""
