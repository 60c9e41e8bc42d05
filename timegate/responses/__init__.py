"""Responses that the command line and the server share: redirect, report, links, problems."""
