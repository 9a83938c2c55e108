"""The machine: its memory, limits, identity; mapped files."""
