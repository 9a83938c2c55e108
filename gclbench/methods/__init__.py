"""Methods, one file each, and what several methods share.

A file that registers no method is shared: batches, clusters, sub-graphs, two-view training, ….
"""
