"""How long the package takes: ``python -m tests.benchmarks`` prints, and judges nothing."""
