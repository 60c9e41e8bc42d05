"""Sends requests to archives: politely, and only where the registry allows."""
