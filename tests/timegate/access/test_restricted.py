"""Archives whose holdings only some may see."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from archives.model import Closest, Memento
from archives.moment import Moment
from tests.clock import Clock
from tests.scenario import World
from tests.timegate.endpoints.served import Site
from timegate.access.networks import Networks
from timegate.access.restricted import Restrictions, ScopedRecollection, hidden, hiding, visible
from timegate.app import running
from timegate.cache import AnswerCache, MemoryStore
from timegate.config import BadConfig, load_config
from timegate.demo import demo_config
from timegate.resolution.model import Plan, Preferences, Query
from timegate.server.listener import listening
from timegate.server.process_state import ProcessState

CAMPUS = "10.1.2.3"
WORLD = "198.51.100.7"


def test_who_is_outside_sees_less() -> None:
    restrictions = Restrictions({"x": Networks(["10.0.0.0/8"]), "y": Networks(["10.1.0.0/16"])})

    assert restrictions.hidden_from("10.1.2.3") == frozenset()
    assert restrictions.hidden_from("10.2.0.1") == {"y"}
    assert restrictions.hidden_from("unknown") == {"x", "y"}
    assert [restrictions.shared_with(a) for a in ("10.2.0.1", "192.0.2.1")] == [True, False]


def test_what_is_hidden_is_in_no_plan() -> None:
    seen: list[frozenset[str]] = []

    def route(query: Query, preferences: Preferences) -> Plan:
        del query
        seen.append(preferences.exclude)
        return Plan(())

    with hiding(frozenset({"x"})):
        visible(route)(
            Query("http://example.org/", None), Preferences(exclude=frozenset({"y"}))
        )
    visible(route)(Query("http://example.org/", None), Preferences())

    assert seen == [{"x", "y"}, frozenset()]
    assert hidden() == frozenset()


async def test_what_a_restricted_archive_said_lies_apart() -> None:
    store = MemoryStore()
    scoped = ScopedRecollection(store, Clock(), "v", changing=(), restricted=("x",))
    plain = AnswerCache(store, Clock(), "v")
    page, at = "http://example.org/", Moment("20160101000000")
    found = Closest(Memento("20160101000000", "http://x/1", page, "x"), "timegate")

    await scoped.remember("x", page, at, found)

    assert await scoped.recall("x", page, at) is not None
    assert await plain.recall("x", page, at) is None


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Site]:
    """Serve the demo, of which one archive is for the campus."""
    config = demo_config(folder)
    names = [entry.id for entry in config.registry.used]
    limits = type(config.limits)(trusted_proxies=["127.0.0.1"])
    config = type(config)(
        config.registry, limits=limits, restricted={names[0]: ("10.0.0.0/8",)}
    )
    async with (
        ProcessState() as lasting,
        running(config, "http://gate.example", lasting=lasting) as app,
        listening(app.dispatch, "127.0.0.1", 0) as port,
    ):
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
async def test_a_hidden_collection_is_refused_like_one_that_is_not_there(
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


async def test_the_collections_are_listed_with_and_without_a_slash(tmp_path: Path) -> None:
    async with served(tmp_path) as site:
        seen = [await site.ask(path) for path in ("/collections", "/collections/")]

    assert seen[0].body == seen[1].body


@pytest.mark.parametrize("value", ['"10.0.0.0/8"', "[]", '["campus"]'])
def test_a_restriction_that_is_none_is_refused(tmp_path: Path, value: str) -> None:
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
