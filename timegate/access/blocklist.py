"""Addresses that this server leads nobody to, by decision of its operator.

They are compared as archives file them (SURT), so that no spelling of a URL gets by. Such a
page has an empty plan: nobody is asked for it, nothing is recalled. Who asked is told why; that
is noted in the context of the request.
"""

from collections.abc import Sequence
from contextvars import ContextVar

from archives.surt import surt
from timegate.resolution.budget import During
from timegate.resolution.model import Preferences, Query
from timegate.resolution.resolver import Plan, Router


class Blocklist:
    """What is denied."""

    def __init__(self, urls: Sequence[str] = (), hosts: Sequence[str] = ()) -> None:
        """Deny *urls* and all below them, *hosts* and all below them.

        A URL that ends in ``*`` denies whatever begins so.
        """
        self._prefixes = tuple(surt(url[:-1]) for url in urls if url.endswith("*"))
        self._pages = tuple(surt(url).rstrip("/") for url in urls if not url.endswith("*"))
        self._hosts = tuple(surt(f"http://{host}/").partition(")")[0] for host in hosts)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._prefixes or self._pages or self._hosts)

    def hold(self, url: str) -> bool:
        """Whether *url* is denied."""
        key = surt(url)
        if key.startswith(self._prefixes):
            return True
        host = key.partition(")")[0].partition(":")[0]
        if any(host == one or host.startswith(f"{one},") for one in self._hosts):
            return True
        return any(key == one or key.startswith((f"{one}/", f"{one}?")) for one in self._pages)


_noted: ContextVar[list[str] | None] = ContextVar("denied", default=None)


def noting() -> During[list[str] | None]:
    """Collect what is denied in this block."""
    return During(_noted, [])


def note(url: str) -> None:
    """Note that *url* was denied."""
    noted = _noted.get()
    if noted is not None:
        noted.append(url)


def denying(route: Router, denials: Blocklist) -> Router:
    """Return *route* with nobody to ask for what is denied."""
    if not denials:
        return route

    def routed(query: Query, preferences: Preferences) -> Plan:
        if denials.hold(query.original):
            note(query.original)
            return Plan(())
        return route(query, preferences)

    return routed
