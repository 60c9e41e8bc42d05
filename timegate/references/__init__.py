"""Finding references in whatever is pasted or listed, one module for each format."""

from timegate.references.formats import extract as extract
from timegate.references.model import FoundReference as FoundReference
