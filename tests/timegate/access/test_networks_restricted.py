"""Restricted archives: visible only from certain networks."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Site
from tests.whole_server import running_server
from timegate.access.networks import Networks, Restrictions
from timegate.config import BadConfig, load_config
from timegate.demo import demo_config

CAMPUS = "10.1.2.3"
WORLD = "198.51.100.7"


def test_an_archive_is_hidden_from_clients_outside_its_networks() -> None:
    restrictions = Restrictions({"x": Networks(["10.0.0.0/8"]), "y": Networks(["10.1.0.0/16"])})

    assert restrictions.hidden_from("10.1.2.3") == frozenset()
    assert restrictions.hidden_from("10.2.0.1") == {"y"}
    assert restrictions.hidden_from("unknown") == {"x", "y"}
    assert [restrictions.shared_with(a) for a in ("10.2.0.1", "192.0.2.1")] == [True, False]


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Site]:
    """Serve the demo with one archive restricted to the campus network."""
    config = demo_config(folder)
    names = [entry.id for entry in config.registry.used]
    limits = type(config.limits)(trusted_proxies=["127.0.0.1"])
    config = type(config)(
        config.registry, limits=limits, restricted={names[0]: ("10.0.0.0/8",)}
    )
    async with running_server(config) as port:
        yield Site(port, World())


async def test_the_demo_with_an_archive_for_the_campus(tmp_path: Path) -> None:
    async with served(tmp_path) as site:

        async def ask(path: str, address: str) -> tuple[int, object, str | None]:
            seen = await site.ask(
                path, ("X-Forwarded-For", address), ("Accept", "application/json")
            )
            return seen.status, json.loads(seen.body), seen.headers.get("Cache-Control")

        _, outside, _ = await ask("/collections", WORLD)
        _, inside, caching = await ask("/collections", CAMPUS)
        theirs = {one["id"] for one in outside["collections"]}  # type: ignore[index]
        all_of_them = {one["id"] for one in inside["collections"]}  # type: ignore[index]
        (secret,) = all_of_them - theirs
        refused, _, _ = await ask(f"/collections/{secret}", WORLD)
        shown, _, _ = await ask(f"/collections/{secret}", CAMPUS)
        reports = [
            await ask(f"/resolve/http://example.org/?as=json&archives={secret}", address)
            for address in (CAMPUS, WORLD)
        ]

    assert len(theirs) == 1
    assert (refused, shown) == (404, 200)
    assert caching is not None
    assert caching.startswith("private")
    asked = [[one["archive"] for one in report[1].get("archives", [])] for report in reports]  # type: ignore[attr-defined]
    assert asked == [[secret], []]


@pytest.mark.parametrize("rest", ["", "/2010/http://museum.example/"])
async def test_a_hidden_collection_is_answered_like_one_that_does_not_exist(
    tmp_path: Path, rest: str
) -> None:
    async with served(tmp_path) as site:
        seen = [
            await site.ask(f"/collections/{name}{rest}", ("X-Forwarded-For", WORLD))
            for name in ("harbour", "nowhere")
        ]

    assert [one.status for one in seen] == [404, 404]
    assert seen[0].body == seen[1].body
    assert b"harbour" not in seen[1].body


async def test_a_reference_to_a_hidden_archive_is_answered_like_one_to_an_unknown_one(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as site:
        seen = [
            await site.ask(
                f"/urn:pwid:{name}.example:2009-06-15T18:30:12Z:page:http://nowhere.example/",
                ("X-Forwarded-For", WORLD),
            )
            for name in ("harbour", "unknown")
        ]

    hidden, unknown = seen
    assert hidden.body == unknown.body.replace(b"unknown.example", b"harbour.example")
    for name in ("Link", "Memento-Precision"):
        assert hidden.headers[name] == unknown.headers[name]
    assert b"not registered" in hidden.body


async def test_the_collections_are_listed_with_and_without_a_slash(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        seen = [await site.ask(path) for path in ("/collections", "/collections/")]

    assert seen[0].body == seen[1].body


@pytest.mark.parametrize("value", ['"10.0.0.0/8"', "[]", '["campus"]'])
def test_a_restriction_without_networks_is_rejected(tmp_path: Path, value: str) -> None:
    path = tmp_path / "timegate.toml"
    path.write_text(
        '[[archive]]\nid = "x"\nkind = "memento"\ntimegate = "https://x.example/"\n'
        f"restricted_to = {value}\n"
    )

    with pytest.raises(BadConfig, match=r"archive\[1\]\.restricted_to"):
        load_config(path)


def test_a_restriction_is_read(tmp_path: Path) -> None:
    path = tmp_path / "timegate.toml"
    path.write_text(
        '[[archive]]\nid = "x"\nkind = "memento"\ntimegate = "https://x.example/"\n'
        'restricted_to = ["10.0.0.0/8"]\n'
    )

    assert load_config(path).restricted == {"x": ("10.0.0.0/8",)}


PAGE = ("Accept", "text/html")


async def test_endpoints_times_and_counters_of_a_hidden_archive_are_not_shown(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as site:

        async def body(path: str, address: str, *headers: tuple[str, str]) -> str:
            seen = await site.ask(path, ("X-Forwarded-For", address), *headers)
            return seen.body.decode()

        await body("/resolve/duri:2010:http://museum.example/?archives=harbour", CAMPUS)
        (listed,) = [
            one for one in json.loads(await body("/archives", WORLD)) if one["id"] == "harbour"
        ]
        alone = json.loads(await body("/archives/harbour", WORLD))
        inside = json.loads(await body("/archives/harbour", CAMPUS))
        pages = [await body("/archives/harbour", address, PAGE) for address in (WORLD, CAMPUS)]
        lists = [await body("/archives", address, PAGE) for address in (WORLD, CAMPUS)]
        metrics = [await body("/metrics", address) for address in (WORLD, CAMPUS)]
        ready = [json.loads(await body("/readyz", address)) for address in (WORLD, CAMPUS)]

    assert listed == alone
    assert alone["state"] == {}
    assert not {"timegate", "replay", "hosts", "limits", "timemaps"} & alone.keys()
    assert alone["name"] == inside["name"]
    assert inside["state"]["last_success"]
    assert inside["replay"]
    assert ["Last success" in page for page in pages] == [False, True]
    assert lists[0].count("last 1 request") == 0
    assert lists[1].count("last 1 request") == 1
    assert ['archive="harbour"' in text for text in metrics] == [False, True]
    assert [one["archives"]["asked"] for one in ready] == [1, 2]
