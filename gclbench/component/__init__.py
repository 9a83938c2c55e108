"""What a component is: a name in a registry, settings with types and ranges."""
