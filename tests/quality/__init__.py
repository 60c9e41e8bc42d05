"""How well contents are judged: a corpus made here, precision and recall for each class."""
