"""The machine: memory, limits, threads, precision, identity; mapped files; messages on standard
error."""
