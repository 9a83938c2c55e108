"""What a user's own `.npz` holds, as text: shown by `gclbench show dataset=custom`."""

FORMAT = """\
key                                  shape         what
x                                    N x F         features, numbers; or instead of it the four
                                                   arrays of a csr matrix:
x_data, x_indices, x_indptr, x_shape               as scipy's csr_matrix has them
edge_index                           2 x E         node pairs, whole numbers in 0...N-1, one or both
                                                   directions of an edge
y                                    N             optional: classes 0, 1, 2, ...; -1 for a node
                                                   without label
train_mask, val_mask, test_mask      N or N x S    optional, all three: the public
                                                   split, or S of them
"""

EXAMPLE = """\
numpy.savez("graph.npz", x=x, edge_index=edge_index, y=y)
gclbench dataset=custom dataset.path=graph.npz dataset.name=mine
"""
