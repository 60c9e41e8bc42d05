"""Files of the archived web on our own disks: WARC, ARC and WACZ, read within bounds."""
