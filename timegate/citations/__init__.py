"""Citing a copy: its names, which need no authority, and references in the usual notations."""

from timegate.citations.names import Citation, citation
from timegate.citations.references import FORMS, Copy, Form, reference

__all__ = ["FORMS", "Citation", "Copy", "Form", "citation", "reference"]
