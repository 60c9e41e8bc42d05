"""Whole pages: the parts of an archived page, and how coherent they are in time.

Pure: the parts are looked up in `timegate.extract.page_parts`.
"""
