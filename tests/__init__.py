"""Tests, benchmarks and validation experiments; a package, so that no other `tests` hides it."""
