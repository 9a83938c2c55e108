"""Smoothing filters: from a graph to new node features."""
