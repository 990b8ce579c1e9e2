"""The law of a metric, given the belief about each missing label."""
