"""What every request passes through: a second origin for archived bytes, the access log."""

import json
from pathlib import Path

import pytest

from tests.scenario import World
from tests.timegate.endpoints.served import Seen, Site
from tests.timegate.server.limited_server import Slow, configured, limited
from timegate.config import BadConfig, load_config
from timegate.demo import demo_config
from timegate.observability.logs import Access
from timegate.responses.model import ClientRequest, Response
from timegate.server.client_quota import ClientLimits
from timegate.server.listener import listening
from timegate.server.middleware import Dispatch, Routes

GATE, REPLAY = "http://gate.example", "http://bytes.example"


async def _handler(request: ClientRequest) -> Response:
    del request
    return Response(204)


async def answered(replay_url: str | None, target: str, host: str) -> Seen | None:
    """Return the response of the middleware; None if the handler answered."""
    dispatch = Dispatch(Routes({}, {}, _handler), replay_url=replay_url)
    async with listening(dispatch, "127.0.0.1", 0) as port:
        seen = await Site(port, World(), host).ask(target)
    return None if seen.status == 204 else seen


@pytest.mark.parametrize(
    ("host", "target", "status"),
    [
        ("gate.example", "/timegate/http://x.org/", None),
        ("gate.example", "/collections", None),
        ("gate.example", "/collections/x/2016id_/http://x.org/", 307),
        ("gate.example", "/memento/proxy/2016/http://x.org/", 307),
        ("any.example", "/memento/proxy/2016/http://x.org/", 307),
        ("bytes.example", "/collections/x/2016id_/http://x.org/", None),
        ("BYTES.example", "/memento/proxy/2016/http://x.org/", None),
        ("gate.example", "/web/20160101000000id_/http://x.org/", 307),
        ("gate.example", "/web/20160101000000/http://x.org/", None),
        ("bytes.example", "/web/20160101000000id_/http://x.org/", None),
        ("bytes.example", "/web/20160101000000-id_/http://x.org/", 404),
        ("bytes.example", "/timegate/http://x.org/", 404),
        ("gate.example", "/view/2016/http://x.org/", None),
        ("gate.example", "/view/2016-2017@x.mp_/http://x.org/", 307),
        ("gate.example", "/reconstruct/2016-2017@x.im_/http://x.org/", 307),
        ("bytes.example", "/view/2016-2017@x.mp_/http://x.org/", None),
        ("bytes.example", "/view/2016/http://x.org/", 404),
        ("bytes.example", "/", 404),
        ("bytes.example", "/healthz", None),
    ],
)
async def test_archived_bytes_and_everything_else_have_separate_origins(
    host: str, target: str, status: int | None
) -> None:
    answer = await answered(REPLAY, target, host)

    assert (answer and answer.status) == status
    if answer is not None and status == 307:
        assert answer.headers["Location"] == f"{REPLAY}{target}"


async def test_without_a_replay_url_everything_is_served_at_one_origin() -> None:
    assert await answered(None, "/collections/x/", "any.example") is None


@pytest.mark.parametrize(
    "text",
    [
        '[replay]\nbase_url = "https://bytes.example"',
        'base_url = "https://t.example"\n[replay]\nbase_url = "https://t.example:8443"',
        'base_url = "https://t.example"\n[replay]\nbase_url = "https://bytes.example/x"',
        'base_url = "https://t.example"\n[replay]\nbase_url = "bytes.example"',
    ],
)
def test_a_replay_url_that_is_no_other_origin_is_rejected(tmp_path: Path, text: str) -> None:
    path = tmp_path / "timegate.toml"
    path.write_text(text)

    with pytest.raises(BadConfig, match=r"replay\.base_url"):
        load_config(path)


async def test_local_collections_are_replayed_at_the_second_origin(tmp_path: Path) -> None:
    config = demo_config(tmp_path)
    config = type(config)(config.registry, base_url=GATE, replay_url=REPLAY)
    async with configured(config, GATE) as (site, _):
        overview = await site.ask("/collections", ("Accept", "application/json"))
        cdx = json.loads(overview.body)["collections"][0]["cdx"]
        moved = await site.ask("/collections/harbour/2016/http://harbour.example/")

    assert cdx.startswith(f"{REPLAY}/collections/")
    assert moved.status == 307
    assert moved.headers["Location"].startswith(f"{REPLAY}/collections/harbour/2016/")


async def test_each_request_is_logged_if_an_access_log_is_given() -> None:
    slow, log = Slow(), list[Access]()
    slow.may_answer.set()

    async with limited(slow, ClientLimits(), log=log) as site:
        await site.ask("/slow/http://example.org/?secret")

    (access,) = log
    assert (access.method, access.route, access.status) == ("GET", "/slow/", 200)
    assert access.address == "127.0.0.1"
