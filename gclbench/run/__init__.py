"""One run: load, hide, filter, fit, evaluate, record."""
