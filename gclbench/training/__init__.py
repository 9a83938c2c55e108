"""One training: the loop, its watch, checkpoints and patience; named random streams."""
