"""A reply without a network."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field


@dataclass
class FakeReply:
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    url: str = "https://a.example/"
    body: bytes = b""

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.body
