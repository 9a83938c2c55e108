"""One training: watch, checkpoints, patience, named random streams."""
