"""One file or folder per paper. Each defines `PAPER` and is found by `discovery.papers`."""
