"""Strategies for negatives, one per file, and what they learn with."""
