"""Keeping: makes sure that each reference has a copy in a store of one's own.

The bytes of the memento that is found are copied as they were captured, with their provenance.
A live page is fetched only where that is allowed. Keeping a list again changes nothing.
"""
