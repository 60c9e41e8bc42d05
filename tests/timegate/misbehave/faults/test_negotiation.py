"""Faults of redirects."""

import pytest
from aiohttp import ClientSession
from yarl import URL

from tests.timegate.misbehave.asking import PAGE, REPLAY, TIMEGATE, location, pure
from timegate.misbehave import (
    EXAMPLE,
    misbehaving_archive,
)


def test_loop_self_leads_to_itself() -> None:
    assert location(pure("loop-self", TIMEGATE)).endswith(TIMEGATE)


def test_loop_pair_leads_there_and_back() -> None:
    there = location(pure("loop-pair", TIMEGATE))
    back = location(pure("loop-pair", there.removeprefix("http://127.0.0.1:1")))

    assert there.endswith(f"/hop/1/{PAGE}")
    assert back.endswith(TIMEGATE)


def test_loop_fifty_is_correct_after_fifty_redirects() -> None:
    path, hops = TIMEGATE, 0
    while "/web/" not in path:
        path = location(pure("loop-fifty", path)).removeprefix("http://127.0.0.1:1")
        hops += 1

    assert hops == 51


def test_redirect_nowhere_has_no_location() -> None:
    assert location(pure("redirect-nowhere", TIMEGATE)) == ""


def test_multiple_choices_lists_the_captures() -> None:
    answer = pure("multiple-choices", TIMEGATE)

    assert answer.status == 300
    assert answer.body.count(b"<li>") == len(EXAMPLE)


@pytest.mark.parametrize(
    ("fault", "target"),
    [
        ("redirect-metadata", "http://169.254.169.254/latest/meta-data/"),
        ("redirect-file", "file:///etc/passwd"),
        ("redirect-elsewhere", f"http://elsewhere.example/web/20130615083000/{PAGE}"),
        ("redirect-private", f"http://10.0.0.1/web/20130615083000/{PAGE}"),
    ],
)
def test_redirects_lead_where_no_archive_should(fault: str, target: str) -> None:
    assert location(pure(fault, TIMEGATE)) == target
    assert location(pure(fault, REPLAY)) == target


async def test_redirect_downgrade_leads_from_https_to_http() -> None:
    async with (
        misbehaving_archive(fault="redirect-downgrade") as archive,
        ClientSession() as session,
        session.get(
            URL(archive.url + TIMEGATE, encoded=True),
            ssl=archive.client_tls(),
            allow_redirects=False,
        ) as reply,
    ):
        assert archive.url.startswith("https://127.0.0.1")
        assert reply.headers["Location"].startswith("http://127.0.0.1")


def test_chain_three_answers_after_three_redirects() -> None:
    target = TIMEGATE
    for _ in range(3):
        hop = location(pure("chain-three", target))
        assert "/hop/" in hop
        target = hop.removeprefix("http://127.0.0.1:1")

    assert "/web/20200202020202/" in location(pure("chain-three", target))


@pytest.mark.parametrize(
    ("fault", "target"),
    [
        ("memento-to-last", f"http://127.0.0.1:1/web/20200202020202/{PAGE}"),
        ("memento-to-login", f"http://127.0.0.1:1/web/20130615083000/{PAGE}login"),
        ("memento-to-home", "http://127.0.0.1:1/"),
        ("memento-to-live", PAGE),
        ("memento-elsewhere", f"http://elsewhere.example/web/20130615083000/{PAGE}"),
    ],
)
def test_mementos_that_redirect_are_intermediate_resources(fault: str, target: str) -> None:
    answer = pure(fault, REPLAY)

    assert location(answer) == target
    assert answer.value("Memento-Datetime") is None
    assert "/web/20200202020202/" in location(pure(fault, TIMEGATE))


def test_the_login_page_is_a_memento_of_its_own() -> None:
    answer = pure("memento-to-login", f"/web/20130615083000/{PAGE}login")

    assert answer.status == 200
    assert f'<{PAGE}login>; rel="original"' in (answer.value("Link") or "")
