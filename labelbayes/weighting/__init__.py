"""Labels seen with unequal probability: weights, outcome models, and both."""
