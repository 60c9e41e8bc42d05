"""Local collections of WARC files, served as archives of their own."""
