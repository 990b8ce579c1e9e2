"""What holds without believing any probability of a missing label."""
