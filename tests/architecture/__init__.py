"""Figures of the architecture: the size of the source, and the files that a request uses.

python -m tests.architecture [--list]
"""
