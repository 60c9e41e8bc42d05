"""Conformance checks: whether an archive follows RFC 7089 and the practice users rely on.

    Subject -> gather (sends each request once, by a `Session`) -> Facts -> checks -> Report

Only `gather` sends requests. The checks are pure functions of the facts, one for each
requirement, so they can be repeated from a recording.
"""
