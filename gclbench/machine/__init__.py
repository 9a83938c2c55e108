"""The machine: its memory, limits and identity; mapped files; messages on standard error."""
