"""From words on the command line to a checked run."""
