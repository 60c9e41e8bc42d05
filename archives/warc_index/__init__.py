"""A folder of WARCs as an archive: its index, how that is built and kept, how it is asked."""
