"""The YAML values of every config group."""
