"""One unit of runs: split, hide, filter and fit once, then evaluate and record each run."""
