"""Datasets, their files and mirrors, graph generators, and splits."""
