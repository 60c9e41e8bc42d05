"""Logs, metrics, tracing and canaries."""
