"""Asks many web archives and answers with the best copy, and how good it is."""
