"""Reading WARC, ARC and WACZ files, local or remote, within limits."""
