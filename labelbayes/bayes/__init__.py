"""Models of the missing labels in PyMC, and posteriors of the metrics."""
