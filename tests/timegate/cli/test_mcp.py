"""``timegate mcp``: the tools with the SDK's own client, and who may use HTTP."""

import json
from collections.abc import AsyncIterator
from typing import Any

import click
import pytest

import timegate
from timegate.cli.mcp import AsgiApp, guarded, http_app, read_address
from timegate.cli.mcp_tools import mcp_server

mcp = pytest.importorskip("mcp")
PAGE = "duri:2010-11:http://museum.example/"


@pytest.fixture
async def gate() -> AsyncIterator[timegate.Gate]:
    async with timegate.open(demo=True) as opened:
        yield opened


async def called(gate: timegate.Gate, tool: str, **arguments: object) -> dict[str, Any]:
    async with mcp.Client(mcp_server(gate)) as client:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        content: dict[str, Any] = result.structured_content
        return content


async def test_there_are_few_tools_and_all_are_described(gate: timegate.Gate) -> None:
    async with mcp.Client(mcp_server(gate)) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        *("resolve", "read", "check_quote", "audit", "captures"),
    ]
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)


async def test_a_copy_is_seen_with_its_citation(gate: timegate.Gate) -> None:
    seen = await called(gate, "resolve", reference=PAGE)
    assert seen["standing"] == "seen"
    assert seen["pwid"].startswith("urn:pwid:harbour.example:2010-11-05T10:15:00Z:page:")
    assert seen["uri"] in seen["citation"]


async def test_a_text_is_read_in_pieces(gate: timegate.Gate) -> None:
    whole = await called(gate, "read", reference=PAGE)
    part = await called(gate, "read", reference=PAGE, start=4, most=10)
    assert part["text"] == whole["text"][4:14]
    assert part["length"] == whole["length"] == len(whole["text"])


async def test_a_quotation_is_checked(gate: timegate.Gate) -> None:
    found = await called(gate, "check_quote", reference=PAGE, quote="open all year")
    absent = await called(gate, "check_quote", reference=PAGE, quote="closed for ever and ever")
    assert (found["quote"]["status"], absent["quote"]["status"]) == ("found", "absent")
    assert found["quote"]["uri"].endswith("#:~:text=Open%20all%20year")


async def test_captures_are_listed(gate: timegate.Gate) -> None:
    seen = await called(gate, "captures", reference="http://museum.example/", most=2)
    assert (len(seen["captures"]), seen["truncated"], seen["standing"]) == (2, True, "seen")
    none = await called(gate, "captures", reference="http://nowhere.example/")
    assert none["standing"] == "absent"


async def test_a_bibliography_is_audited(gate: timegate.Gate) -> None:
    rows = [
        {"url": "http://museum.example/", "date": "2010-11", "quote": "Open all year"},
        {"url": "http://nowhere.example/", "date": "2010"},
        {"url": "nonsense"},
    ]
    seen = await called(gate, "audit", bibliography=json.dumps(rows))
    first, second, third = seen["references"]
    assert [row["standing"] for row in seen["references"]] == ["seen", "absent", "unreadable"]
    assert first["quote"]["status"] == "found"
    assert first["as_asked"]
    assert second["quote"] is third["quote"] is None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("resolve", {"reference": "nonsense"}),
        ("check_quote", {"reference": PAGE, "quote": ""}),
        ("audit", {"bibliography": "no link at all"}),
        ("read", {"reference": PAGE, "most": 10**9}),
    ],
)
async def test_nonsense_is_an_error_of_the_tool(
    gate: timegate.Gate, tool: str, arguments: dict[str, object]
) -> None:
    async with mcp.Client(mcp_server(gate)) as client:
        assert (await client.call_tool(tool, arguments)).is_error


@pytest.mark.parametrize(
    "text", ["0.0.0.0:80", "example.org:80", "127.0.0.1", "127.0.0.1:0", "x"]
)
def test_http_is_for_loopback_only(text: str) -> None:
    with pytest.raises(click.UsageError):
        read_address(text)


def test_addresses_on_loopback_are_read() -> None:
    assert read_address("127.0.0.1:1209") == ("127.0.0.1", 1209)
    assert read_address("[::1]:1209") == ("::1", 1209)


async def status(app: AsgiApp, headers: dict[str, str]) -> int:
    sent: list[Any] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    written = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "root_path": "",
        "headers": written,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 1209),
    }
    await app(scope, receive, send)
    return int(sent[0]["status"])


async def test_only_the_token_opens_http() -> None:
    async def inner(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 204, "headers": []})

    app = guarded(inner, "secret-of-sixteen")
    assert await status(app, {}) == 401
    assert await status(app, {"Authorization": "Bearer other"}) == 401
    assert await status(app, {"Authorization": "Bearer secret-of-sixteen"}) == 204


async def test_pages_of_other_sites_are_refused(gate: timegate.Gate) -> None:
    server = mcp_server(gate)
    app = http_app(server, "127.0.0.1", 1209)
    own = {"Host": "127.0.0.1:1209", "Content-Type": "application/json"}
    async with server.session_manager.run():
        assert await status(app, {**own, "Origin": "http://evil.example"}) == 403
        assert await status(app, {**own, "Host": "evil.example"}) == 421
        assert await status(app, own) not in (401, 403, 421)
