"""What every estimator returns."""
