"""Belief about each missing label."""
