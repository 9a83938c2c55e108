"""The fused pull kernel behind every solver of the filter: what it computes, and its CUDA form."""
