"""Requests that Schemathesis generates from the OpenAPI description (`make api`)."""
