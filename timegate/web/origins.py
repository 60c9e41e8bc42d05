"""Archived bytes at an origin of their own, so that nothing in them can act as ours (R5).

Where one is configured, local collections and ``/memento/proxy/`` are answered there and
nowhere else, and nothing else is answered there. The sandbox stays: a second fence costs
nothing.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from timegate.web.call import Response
from timegate.web.problems import problem

_ARCHIVED: Final = ("/collections/", "/memento/proxy/")
_FOR_ANYBODY: Final = ("/healthz", "/readyz")


class Origins:
    """Which of our two addresses answers what."""

    def __init__(self, replay: str | None = None) -> None:
        """Take the address of archived bytes; None where there is one for everything."""
        self._replay = replay
        self._host = "" if replay is None else urlsplit(replay).netloc.lower()

    def elsewhere(self, target: str, headers: Mapping[str, str]) -> Response | None:
        """Return where to go with *target*; None if it is answered where it was asked."""
        if self._replay is None or target.startswith(_FOR_ANYBODY):
            return None
        archived = target.startswith(_ARCHIVED)
        if headers.get("Host", "").lower() != self._host:
            # 307: a HEAD stays a HEAD.
            return Response(307, {"Location": f"{self._replay}{target}"}) if archived else None
        return None if archived else _nothing_here()


def _nothing_here() -> Response:
    return problem(404, "not-found", "only archived bytes are served at this address")
