"""The blocklist: addresses that are not served."""

from pathlib import Path

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Site
from tests.whole_server import running_server
from timegate.access.blocklist import Blocklist
from timegate.config import BadConfig, load_config
from timegate.config.schema import Deny
from timegate.demo import demo_config


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("http://example.org/private", True),
        ("https://www.example.org/private/", True),
        ("http://EXAMPLE.org:80/Private/a/b?c=d", True),
        ("http://example.org/private?x", True),
        ("http://example.org/%70rivate", True),
        ("http://example.org/privateer", False),
        ("http://example.org/", False),
        ("http://example.org/draft-7", True),
        ("http://secret.example/", True),
        ("http://deep.in.secret.example:8080/page", True),
        ("http://topsecret.example/", False),
    ],
)
def test_every_spelling_of_a_blocked_url_is_blocked(url: str, *, blocked: bool) -> None:
    blocklist = Blocklist(
        ["http://example.org/private/", "http://example.org/draft*"], ["secret.example"]
    )

    assert blocklist.holds(url) is blocked


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("urls = ['example.org/x']", "deny.urls"),
        ("hosts = ['http://example.org']", "deny.hosts"),
        ("hosts = ['']", "deny.hosts"),
        ("status = 200", "deny.status"),
    ],
)
def test_a_bad_blocklist_is_rejected(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "timegate.toml"
    path.write_text(f"[deny]\n{text}\n")

    with pytest.raises(BadConfig, match=key):
        load_config(path)


async def test_every_endpoint_answers_451_for_a_blocked_url(tmp_path: Path) -> None:
    config = demo_config(tmp_path)
    collection = next(entry.id for entry in config.registry.used if entry.kind.name == "warc")
    config = type(config)(config.registry, deny=Deny(hosts=["x.org"]))
    page = "http://www.x.org/page"
    targets = [
        f"/timegate/{page}",
        f"/resolve/{page}",
        f"/{page}",
        f"/timemap/link/{page}",
        f"/memento/2016/{page}",
        f"/memento/proxy/2016/{page}",
        f"/web/2016/{page}",
        f"/view/2016/{page}",
        f"/view/2016-2016@{collection}.mp_/{page}",
        f"/cdx?url={page}",
        f"/collections/{collection}/2016/{page}",
        f"/collections/{collection}/timemap/link/{page}",
        f"/collections/{collection}/cdx?url={page}",
    ]

    async with running_server(config) as port:
        site = Site(port, World())
        statuses = {target: (await site.ask(target)).status for target in targets}
        other = await site.ask("/timegate/http://other.org/")

    assert statuses == dict.fromkeys(targets, 451)
    assert other.status == 404
