"""A list of references becomes a WARC: the bytes of each copy, and how good the copy is."""
