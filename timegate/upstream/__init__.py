"""Requests to archives: HTTP client, DNS, egress rules, rate limits and circuit breakers."""
