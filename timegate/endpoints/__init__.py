"""HTTP endpoints, one module for each family of addresses.

A module describes its addresses in ``PATHS``; the OpenAPI description is collected from these.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

REDIRECT: Final = {"302": "To the memento; the verdict is in Memento-Precision"}
CONTENT: Final = {"200": "As described"}


class PathDescription(NamedTuple):
    """The description of one address, for OpenAPI."""

    summary: str
    parameters: tuple[str, ...] = ()
    """Their keys in `timegate.endpoints.openapi`."""
    responses: Mapping[str, str] = CONTENT
    """By status."""
    description: str = ""
