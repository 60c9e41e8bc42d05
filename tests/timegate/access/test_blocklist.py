"""Addresses that nobody is led to."""

from pathlib import Path

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Site
from timegate.access.blocklist import Blocklist, denying, noting
from timegate.app import running
from timegate.config import BadConfig, load_config
from timegate.config.schema import Deny
from timegate.demo import demo_config
from timegate.resolution.model import Plan, Preferences, Query
from timegate.server.listener import listening
from timegate.server.process_state import ProcessState


@pytest.mark.parametrize(
    ("url", "denied"),
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
def test_no_spelling_gets_by(url: str, *, denied: bool) -> None:
    denials = Blocklist(
        ["http://example.org/private/", "http://example.org/draft*"], ["secret.example"]
    )

    assert denials.hold(url) is denied


def test_nobody_is_asked_for_what_is_denied() -> None:
    asked = Plan((("a",),))
    route = denying(lambda _query, _preferences: asked, Blocklist(hosts=["x.org"]))

    with noting() as noted:
        plans = [
            route(Query(url, None), Preferences()) for url in ("http://x.org/", "http://y.org/")
        ]

    assert plans == [Plan(()), asked]
    assert noted == ["http://x.org/"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("urls = ['example.org/x']", "deny.urls"),
        ("hosts = ['http://example.org']", "deny.hosts"),
        ("hosts = ['']", "deny.hosts"),
        ("status = 200", "deny.status"),
    ],
)
def test_what_denies_nothing_is_refused(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "timegate.toml"
    path.write_text(f"[deny]\n{text}\n")

    with pytest.raises(BadConfig, match=key):
        load_config(path)


async def test_every_surface_says_451(tmp_path: Path) -> None:
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
        f"/cdx?url={page}",
        f"/collections/{collection}/2016/{page}",
        f"/collections/{collection}/timemap/link/{page}",
        f"/collections/{collection}/cdx?url={page}",
    ]

    async with (
        ProcessState() as lasting,
        running(config, "http://gate.example", lasting=lasting) as app,
        listening(app.dispatch, "127.0.0.1", 0) as port,
    ):
        site = Site(port, World())
        statuses = {target: (await site.ask(target)).status for target in targets}
        other = await site.ask("/timegate/http://other.org/")

    assert statuses == dict.fromkeys(targets, 451)
    assert other.status == 404
