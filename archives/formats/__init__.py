"""Formats of lists of captures, links and dates: bytes to values and back."""
