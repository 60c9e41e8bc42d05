"""Resolution: from a query to the best memento that any archive holds."""
