"""Batch resolution: reads a list of references, resolves each, writes the results."""
