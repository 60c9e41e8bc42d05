"""Blocklist: addresses that the operator has decided not to serve.

They are compared as archives index them (SURT), so that no spelling of a URL escapes.
"""

from collections.abc import Sequence

from archives.surt import surt


class Blocklist:
    """URLs and hosts for which no archive is queried and nothing is served."""

    def __init__(self, urls: Sequence[str] = (), hosts: Sequence[str] = ()) -> None:
        """Block *urls* and everything below them, *hosts* and everything below them.

        A URL that ends in ``*`` blocks everything that begins with it.
        """
        self._prefixes = tuple(surt(url[:-1]) for url in urls if url.endswith("*"))
        self._pages = tuple(surt(url).rstrip("/") for url in urls if not url.endswith("*"))
        self._hosts = tuple(surt(f"http://{host}/").partition(")")[0] for host in hosts)

    def __bool__(self) -> bool:
        """Whether it has any entries."""
        return bool(self._prefixes or self._pages or self._hosts)

    def holds(self, url: str) -> bool:
        """Whether *url* is blocked."""
        key = surt(url)
        if key.startswith(self._prefixes):
            return True
        host = key.partition(")")[0].partition(":")[0]
        if any(host == name or host.startswith(f"{name},") for name in self._hosts):
            return True
        return any(
            key == page or key.startswith((f"{page}/", f"{page}?")) for page in self._pages
        )
