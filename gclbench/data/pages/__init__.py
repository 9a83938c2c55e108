"""Where datasets come from, one file per family of sources."""
