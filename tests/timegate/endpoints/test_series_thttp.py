"""THTTP operations on PDIs of a series, and delegation to other resolvers."""

from pathlib import Path

import pytest

from tests.timegate.series.serving import SERIES, json_of, serving_series, write_config
from tests.whole_server import running_server

OLD = f"pdi://{SERIES}/1997/09/01/1"
DOCUMENTS: dict[str, bytes] = {f"{OLD}.text.1": b"words", f"{OLD}.html.1": b"<p>words"}


async def test_each_operation_answers(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={**DOCUMENTS}) as client:
        location = await client.ask(f"uri-res/N2L?urn:{OLD}.text.1")
        locations = await client.ask(f"uri-res/N2Ls?urn:{OLD}")
        resource = await client.ask(f"uri-res/N2R?urn:{OLD}", ("Accept", "text/html"))
        resources = await client.ask(f"uri-res/N2Rs?urn:{OLD}")
        single = await client.ask(f"uri-res/N2Rs?urn:{OLD}.text.1")
        about = await client.ask(f"uri-res/N2C?urn:{OLD}")
        names = await client.ask(f"uri-res/N2Ns?urn:{OLD}")
        many = await client.ask(f"uri-res/N2Ls?urn:pdi://{SERIES}/1997/*/*/*")
        several = await client.ask(f"uri-res/N2R?urn:pdi://{SERIES}/1997/*/*/*")
        unknown = await client.ask(f"uri-res/N2L?urn:pdi://{SERIES}/1997/09/01/2")

    assert (location.status, location.headers["Location"]) == (
        303,
        f"http://gate.example/{OLD}.text.1",
    )
    assert sorted(locations.body.decode().split("\r\n")[1:-1]) == [
        f"http://gate.example/{OLD}.html.1",
        f"http://gate.example/{OLD}.text.1",
    ]
    assert (resource.body, resource.headers["Content-Location"]) == (
        b"<p>words",
        f"{OLD}.html.1",
    )
    assert resources.headers["Content-Type"].startswith("multipart/alternative")
    assert b"<p>words" in resources.body
    assert single.body == b"words"
    assert json_of(about)["formats"] == ["html", "text"]
    assert {r["size"] for r in json_of(about)["representations"]} == {5, 8}
    assert names.body.decode().split("\r\n")[1:-1] == [OLD, f"urn:{OLD}"]
    assert many.body.count(b"http://gate.example/") == 2
    assert (several.status, unknown.status) == (404, 404)


@pytest.mark.parametrize("how", ["redirect", "ask"])
async def test_delegated_days_and_series_go_to_their_resolver(tmp_path: Path, how: str) -> None:
    other, ours = tmp_path / "other", tmp_path / "ours"
    other.mkdir()
    ours.mkdir()
    document = f"pdi://maps.{SERIES}/2020/01/01/1.text.1"
    async with serving_series(
        other, SERIES, f"maps.{SERIES}", documents={**DOCUMENTS, document: b"a map"}
    ) as resolver:
        address = resolver.site.url
        more = "".join(
            f'[[series.delegate]]\n{what}\nresolver = "{address}"\nhow = "{how}"\n'
            for what in ('until = "2001-01-19"', f'series = "maps.{SERIES}"')
        )
        async with serving_series(ours, more=more) as client:
            old = await client.ask(f"{OLD}.text.1%23char=0,3")
            head = await client.ask(f"{OLD}.text.1", method="HEAD")
            below = await client.ask(document)
            written = await client.put(f"{OLD}.text", "x")
            missing = await client.ask(f"pdi://{SERIES}/1998/01/01/7.text.1")
            own = await client.mint("today")

    assert own.endswith("/1.text.1")
    assert written.status == 405
    if how == "redirect":
        assert old.status == 302
        assert old.headers["Location"] == f"{address}/uri-res/N2R?urn:{OLD}.text.1%23char=0,3"
        assert "N2C" in head.headers["Location"]
        assert below.headers["Location"] == f"{address}/uri-res/N2R?urn:{document}"
    else:
        assert (old.status, old.body) == (200, b"wor")
        assert old.headers["Content-Location"] == f"{OLD}.text.1#char=0,3"
        assert head.headers["Content-Type"] == "application/json"
        assert below.body == b"a map"
        assert missing.status == 404


async def test_a_resolver_that_does_not_answer_is_no_404(tmp_path: Path) -> None:
    more = (
        '[[series.delegate]]\nuntil = "2001-01-19"\nresolver = "http://127.0.0.1:9"\n'
        'how = "ask"\n'
    )
    async with serving_series(tmp_path, more=more) as client:
        seen = await client.ask(f"{OLD}.text.1")

    assert seen.status == 502


async def test_other_days_than_its_own_are_not_answered(tmp_path: Path) -> None:
    config = write_config(tmp_path, more='since = "2001-01-20"\n')
    assert config.series[0].days[0] is not None
    async with running_server(config, "http://gate.example"):
        pass
    async with serving_series(tmp_path, more='since = "2001-01-20"\n') as client:
        seen = await client.ask(f"{OLD}.text.1")

    assert seen.status == 404
