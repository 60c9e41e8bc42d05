"""Bytes or text to values and back; incremental, bounded, pure."""
