"""Many references at once: read from a list, resolved politely, written back."""
