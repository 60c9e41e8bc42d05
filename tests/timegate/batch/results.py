"""Sample results."""

from timegate.batch.model import Code, Item, ItemResult

FOUND = "https://web.archive.org/web/20130204000000/http://www.dr.dk/"


def a_result(  # noqa: PLR0913 -- what a test may want to choose
    position: int = 0,
    code: Code = 0,
    *,
    outcome: str = "substitute",
    delta: int | None = 0,
    uri: str | None = FOUND,
    text: str = "http://www.dr.dk/",
    final: bool = True,
    status: int | None = 200,
) -> ItemResult:
    memento = uri and {
        "uri": uri,
        "archive": "internet-archive",
        "datetime": "2013-02-04T00:00:00Z",
        "status": status,
    }
    report: dict[str, object] = {
        "memento": memento,
        "time": {"value": "after", "delta": delta},
        "archive": {"value": "other"},
        "cite": {"pwid": "urn:pwid:x" if uri else None},
    }
    return ItemResult(Item(position, text, (text,)), outcome, code, final, None, "why", report)
