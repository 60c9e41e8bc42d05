"""Extraction: fetches the copy of each reference of a list and writes a WARC with verdicts."""
