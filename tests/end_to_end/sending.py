"""One request exactly as a tool sends it: method, headers and body, no redirect followed."""

import http.client
from dataclasses import dataclass
from email.message import Message

PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Reply:
    """The response."""

    status: int
    headers: Message
    body: bytes


def send(url: str, headers: dict[str, str] | None = None, body: str | None = None) -> Reply:
    """Send GET, or POST where there is a *body*.

    Below urllib, which would quote and merge what stands in the path.
    """
    host, slash, path = url.partition("://")[2].partition("/")
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    try:
        method = "GET" if body is None else "POST"
        connection.request(method, slash + path, body, headers or {})
        reply = connection.getresponse()
        return Reply(reply.status, reply.headers, reply.read())
    finally:
        connection.close()
