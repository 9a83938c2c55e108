"""Encoders and the layers they are made of."""
