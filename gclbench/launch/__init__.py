"""Where runs go."""
