"""Downstream tasks: what an embedding is asked to do, and the metrics that say how well it did.

A task hides what training may not see, says which labels a semi-supervised method may read, and
turns an embedding into metrics. Tasks know nothing of methods.
"""
