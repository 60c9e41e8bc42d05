"""What archived pages say: their text, and whether two copies are the same page."""
