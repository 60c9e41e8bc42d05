"""Local collections: the index over files of captures, how it is built and asked."""
