"""Logs, metrics, tracing and canary requests."""
