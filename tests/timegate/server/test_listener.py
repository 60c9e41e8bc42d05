"""The server: methods, CORS, operations, slow and hostile clients."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress

import pytest

from tests.scenario import FakeArchive, World
from tests.timegate.endpoints.served import Site, serving
from tests.timegate.server.limited_server import ok, until
from timegate.responses.model import ClientRequest, Response, StreamingResponse
from timegate.server.connection_limit import ConnectionLimit
from timegate.server.listener import bound, listening
from timegate.server.listener import serving as serving_at
from timegate.server.middleware import Dispatch, Routes

A = FakeArchive("a", 0.0, ("20160122112029",))


async def test_a_preflight_allows_what_memento_clients_send() -> None:
    async with serving(A) as site:
        seen = await site.ask("/timegate/http://x.org/", method="OPTIONS")

    assert seen.status == 204
    assert "Accept-Datetime" in seen.headers["Access-Control-Allow-Headers"]
    assert seen.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "POST"])
async def test_other_methods_are_405(method: str) -> None:
    async with serving(A) as site:
        seen = await site.ask("/timegate/http://x.org/", method=method)

    assert seen.status == 405
    assert seen.headers["Allow"] == "GET, HEAD, OPTIONS"


async def test_every_response_can_be_read_by_scripts_of_other_origins() -> None:
    async with serving(A) as site:
        for target in ("/timegate/http://example.org/", "/nonsense", "/healthz"):
            seen = await site.ask(target)

            assert seen.headers["Access-Control-Allow-Origin"] == "*"
            assert "Memento-Precision" in seen.headers["Access-Control-Expose-Headers"]
            assert seen.headers["X-Content-Type-Options"] == "nosniff"


async def test_pages_for_operators_are_served() -> None:
    async with serving(A) as site:
        seen = {
            path: await site.ask(path)
            for path in (
                "/healthz",
                "/readyz",
                "/about",
                "/metrics",
                "/archives",
                "/archives/a",
            )
        }
        unknown = await site.ask("/archives/nope")

    assert {answer.status for answer in seen.values()} == {200}
    assert seen["/healthz"].body == b"ok\n"
    assert json.loads(seen["/about"].body)["archives"] == ["a"]
    assert json.loads(seen["/archives/a"].body)["state"] == {"name": "a", "asked": True}
    assert "donotnegotiate" in seen["/about"].headers["Link"]
    assert unknown.status == 404


@pytest.mark.parametrize(
    "target",
    ["/timegate/http://x.org/%0d%0aSet-Cookie:x", "/resolve/duri:2016:http://x.org/%00"],
)
async def test_a_target_cannot_add_a_header(target: str) -> None:
    async with serving(A) as site:
        seen = await site.ask(target)

    assert "Set-Cookie" not in seen.headers


async def test_requests_in_progress_are_finished_when_the_server_ends() -> None:
    slow = FakeArchive("slow", 0.15, ("20160122112029",))

    async def later(url: str) -> int:
        return (await site.ask(url)).status

    async with serving(slow) as site, asyncio.TaskGroup() as group:
        waiting = group.create_task(later("/timegate/http://example.org/"))
        await asyncio.sleep(0.05)

    assert waiting.result() == 302


async def test_a_thousand_identical_cold_requests_query_each_archive_once() -> None:
    archives = [FakeArchive(f"a{n}", 0.05, ("20160125000000",)) for n in range(3)]
    at = ("Accept-Datetime", "Fri, 22 Jan 2016 11:20:29 GMT")

    async with serving(*archives) as site:
        gate = asyncio.Semaphore(200)

        async def client() -> int:
            async with gate:
                return (await site.ask("/timegate/http://example.org/", at)).status

        statuses = await asyncio.gather(*(client() for _ in range(1_000)))

    assert set(statuses) == {302}
    assert [len(archive.asked) for archive in archives] == [1, 1, 1]


@pytest.mark.parametrize(
    "sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: "]
)
async def test_an_unfinished_request_is_disconnected_after_the_deadline(sent: bytes) -> None:
    dispatch = Dispatch(Routes({}, {}, _never))

    async with listening(dispatch, "127.0.0.1", 0, head_deadline=0.2) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)

        assert await reader.read() == b""
        writer.close()


async def test_a_body_that_does_not_arrive_in_time_is_408() -> None:
    async with serving(A) as site:
        head = b"POST /resolve HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(head + b"http")
        answer = await reader.readuntil(b"\r\n")
        writer.close()

    assert b" 408 " in answer


async def _never(call: ClientRequest) -> Response:
    raise AssertionError(call)


async def test_a_cached_whole_response_is_not_used_for_a_range() -> None:
    async def handler(call: ClientRequest) -> Response:
        if call.header("Range"):
            return Response(206, {}, b"o")
        return Response(200, {}, b"whole", 60.0)

    dispatch = Dispatch(Routes({}, {"/page/": handler}, handler))
    async with listening(dispatch, "127.0.0.1", 0) as port:
        site = Site(port, World(A))
        first = await site.ask("/page/x")
        part = await site.ask("/page/x", ("Range", "bytes=2-2"))
        again = await site.ask("/page/x")

    assert (first.status, part.status, again.status) == (200, 206, 200)
    assert part.body == b"o"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: secret\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"secret" * 4000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: secret\r\n\r\n",
        b"GET /secret HTTP/9.9\r\n\r\n",
        b"GET /secret\xe4 HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET * HTTP/1.1\r\nHost: secret\r\n\r\n",
        b"<secret>\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00secret",
    ],
)
async def test_a_malformed_request_is_rejected_without_quoting_it(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(A) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(sent)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split()[1] == b"400"
    assert b"aiohttp" not in head
    assert b"secret" not in answer
    assert json.loads(body)["type"].endswith("/bad-request")
    assert not caplog.records


async def test_a_target_with_raw_non_ascii_is_rejected_with_the_encoded_form() -> None:
    async with serving(A) as site:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(
            "GET /timegate/http://müller.example/ HTTP/1.1\r\nHost: a\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    problem = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert problem["status"] == 400
    assert "ü as %C3%BC" in problem["detail"]


def test_the_kernel_buffers_little_of_a_response_that_is_not_read() -> None:
    with (
        bound("127.0.0.1", 0) as place,
        socket.create_connection(place.getsockname()) as client,
    ):
        one, _ = place.accept()
        with one:
            one.setblocking(False)  # noqa: FBT003 -- its only parameter
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            taken = 0
            with suppress(BlockingIOError):
                while taken < 64 << 20:
                    taken += one.send(bytes(64 * 1024))

    # Without a bound the kernel takes 2.8 MB (Linux 6.18, its own settings).
    assert taken < 1 << 20


async def test_no_connection_is_accepted_after_the_server_has_ended() -> None:
    with bound("127.0.0.1", 0) as place:
        address = place.getsockname()
        dispatch = Dispatch(Routes({"/healthz": ok}, {}, ok))
        async with serving_at(dispatch, place):
            await Site(address[1], World()).ask("/healthz")

        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address).close()


async def test_the_head_of_a_later_request_has_the_same_deadline_as_the_first() -> None:
    dispatch = Dispatch(Routes({"/": ok}, {}, ok))
    async with listening(dispatch, "127.0.0.1", 0, head_deadline=0.05) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"ok")
        writer.write(b"GET / HTTP/1.1\r\nHost:")
        async with asyncio.timeout(10):
            rest = await reader.read()
        writer.close()

    assert rest == b""


@pytest.mark.parametrize(
    "request_text",
    [
        b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHo",
        b"POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhttp",
    ],
)
async def test_a_client_that_disconnects_is_not_logged(
    request_text: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    arrived, gone = asyncio.Event(), asyncio.Event()

    async def waiting(_: ClientRequest) -> Response:
        arrived.set()
        await gone.wait()
        return Response(200, {}, b"ok")

    async def streaming(request: ClientRequest) -> StreamingResponse:
        await waiting(request)
        return StreamingResponse(200, {}, _body())

    connections = ConnectionLimit()
    routes = Routes({"/": waiting, "/stream": streaming}, {}, ok, {"/post": _Post()})
    with bound("127.0.0.1", 0) as place:
        async with serving_at(Dispatch(routes), place, connections=connections):
            _, writer = await asyncio.open_connection(*place.getsockname())
            writer.write(request_text)
            await until(lambda: connections.total == 1)
            if request_text.endswith(b"\r\n\r\n"):
                await arrived.wait()
            writer.transport.abort()
            await until(lambda: connections.total == 0)
            gone.set()
            again = await Site(place.getsockname()[1], World()).ask("/else")

    assert again.status == 200
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_client_that_was_refused_may_disconnect_in_its_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connections = ConnectionLimit()
    with bound("127.0.0.1", 0) as place:
        routes = Routes({"/": ok}, {}, ok)
        async with serving_at(Dispatch(routes), place, connections=connections):
            reader, writer = await asyncio.open_connection(*place.getsockname())
            writer.write(
                b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"
            )
            refused = await reader.readuntil(b"\r\n")
            writer.transport.abort()
            await until(lambda: connections.total == 0)

    assert b" 405 " in refused
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def _body() -> AsyncGenerator[bytes, None]:
    yield b"x"


class _Post:
    """A handler that reads a body."""

    largest_body = 100
    body_deadline = 10.0

    async def __call__(self, request: ClientRequest, body: bytes) -> Response:
        return await ok(request._replace(rest=body.decode()))


async def test_a_client_that_has_just_connected_is_answered_when_the_server_stops() -> None:
    limit = ConnectionLimit(per_client=10)
    dispatch = Dispatch(Routes({"/healthz": ok}, {}, ok))
    with bound("127.0.0.1", 0) as place:
        stack = AsyncExitStack()
        await stack.enter_async_context(serving_at(dispatch, place, connections=limit))
        reader, writer = await asyncio.open_connection(*place.getsockname())
        await until(lambda: limit.total == 1)
        async with asyncio.TaskGroup() as group:
            group.create_task(stack.aclose())
            await until(lambda: place.fileno() == -1)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"ok")


async def test_options_names_post_where_it_is_accepted() -> None:
    async with serving(A) as site:
        seen = await site.ask("/resolve", method="OPTIONS")

    assert seen.headers["Allow"] == "GET, HEAD, OPTIONS, POST"
