"""The papers' printed numbers beside recorded runs: tables, figures, the report.

The tables and figures of each paper are defined in `papers`. Nothing here imports torch.
"""
