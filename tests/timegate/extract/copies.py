"""Sample copies, and results that found them."""

from archives.moment import Moment
from timegate.batch.model import Code, Item, ItemResult
from timegate.extract.fetching import FoundCopy

PAGE = "http://a.example/"
URI = "http://archive.example/20160122112029/http://a.example/"
RAW = "http://archive.example/20160122112029id_/http://a.example/"
DATED = {"Memento-Datetime": "Fri, 22 Jan 2016 11:20:29 GMT"}
COPY = FoundCopy("test", URI, RAW, PAGE, Moment("20160122112029"))


def a_result(  # noqa: PLR0913 -- one parameter for each member
    uri: str | None = URI,
    raw: str | None = RAW,
    *,
    code: Code = 0,
    got: str | None = None,
    archive: str = "test",
    position: int = 0,
) -> ItemResult:
    found = {"uri": uri, "raw": raw, "datetime": "2016-01-22T11:20:29Z", "archive": archive}
    report: dict[str, object] = {
        "original": PAGE,
        "uri": {"value": "variant", "got": got} if got else {"value": "same"},
        "memento": found if uri else None,
        "cite": {"pwid": "urn:pwid:x"},
    }
    return ItemResult(Item(position, PAGE, (PAGE,)), "exact", code, True, None, "words", report)  # noqa: FBT003
