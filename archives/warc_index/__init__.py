"""The index of a collection of WARC files: building, updating and querying it."""
