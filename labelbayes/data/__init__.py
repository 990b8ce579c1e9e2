"""What was observed: labels, scores and decisions, and where they are read from."""
