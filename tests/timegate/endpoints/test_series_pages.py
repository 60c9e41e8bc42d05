"""Pages of series: by date, of a document, and the same as JSON."""

from pathlib import Path

from tests.timegate.series.serving import SERIES, json_of, serving_series

OLD = f"pdi://{SERIES}/1997/09/01/1"
BROWSER = ("Accept", "text/html,*/*;q=0.8")
DOCUMENTS: dict[str, bytes] = {
    f"{OLD}.text.1": b"<script>words",
    f"{OLD}.html.1": b"<p>words",
    f"{OLD}.text.2": b"corrected words",
}


async def test_pages_lead_from_the_series_to_the_document(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={**DOCUMENTS}) as client:
        shown = {}
        for path in ("", f"/{SERIES}", f"/{SERIES}/1997", f"/{SERIES}/1997/09"):
            shown[path] = (await client.ask(f"/series{path}", BROWSER)).body.decode()
        day = (await client.ask(f"/series/{SERIES}/1997/09/01", BROWSER)).body.decode()
        page = (await client.ask(f"/series/{SERIES}/1997/09/01/1", BROWSER)).body.decode()

    assert f'href="/series/{SERIES}"' in shown[""]
    assert f'href="/series/{SERIES}/1997"' in shown[f"/{SERIES}"]
    assert f'href="/series/{SERIES}/1997/09"' in shown[f"/{SERIES}/1997"]
    assert f'href="/series/{SERIES}/1997/09/01"' in shown[f"/{SERIES}/1997/09"]
    assert f'href="/series/{SERIES}/1997/09/01/1"' in day
    assert f'href="/{OLD}.text.2"' in page
    assert f"{OLD}.html.1" in page
    assert f"{OLD}.text.2#char=37,51" in page
    assert "%23" in page


async def test_programs_get_json(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={**DOCUMENTS}) as client:
        listed = json_of(await client.ask("/series"))
        year = json_of(await client.ask(f"/series/{SERIES}/1997"))
        document = json_of(await client.ask(f"/series/{SERIES}/1997/09/01/1"))
        overview = json_of(await client.ask(f"pdi://{SERIES}/"))

    assert [each["series"] for each in listed["series"]] == [SERIES]
    assert len(year["documents"]) == 3
    assert document["versions"] == [1, 2]
    assert overview["documents"] == [{"date": "1997", "count": 1}]


async def test_what_is_not_there_is_a_404(tmp_path: Path) -> None:
    async with serving_series(tmp_path) as client:
        for path in ("other.us", f"{SERIES}/97", f"{SERIES}/1997/09/01/7", f"{SERIES}/x/y"):
            assert (await client.ask(f"/series/{path}", BROWSER)).status == 404, path


async def test_a_browser_is_led_from_pdis_to_pages(tmp_path: Path) -> None:
    async with serving_series(tmp_path, documents={**DOCUMENTS}) as client:
        series = await client.ask(f"pdi://{SERIES}/", BROWSER)
        year = await client.ask(f"pdi://{SERIES}/1997/*/*/*", BROWSER)
        document = await client.ask(f"{OLD}?as=html")
        script = await client.ask(f"{OLD}.html.1", BROWSER)

    base = f"http://gate.example/series/{SERIES}"
    assert series.headers["Location"] == base
    assert year.headers["Location"] == f"{base}/1997"
    assert document.headers["Location"] == f"{base}/1997/09/01/1"
    assert "sandbox" in script.headers["Content-Security-Policy"]
