"""What programs are told of canaries: at /archives, and in the metrics."""

from collections.abc import Collection, Mapping
from typing import Final, Literal

import msgspec

from timegate.canaries.history import CanaryRecord, CanarySpan
from timegate.canaries.questions import CanaryQuestion, Verdict

Standing = Literal["kept", "flipped", "unknown"]
STANDINGS: Final[Mapping[Verdict, Standing]] = {
    "kept": "kept",
    "lost": "flipped",
    "claims": "flipped",
    "unknown": "unknown",
}


def told(
    archive: str, records: Mapping[CanaryQuestion, CanaryRecord], secret: Collection[str] = ()
) -> dict[str, object]:
    """Return what is known of the canaries of *archive*, in types that JSON has.

    What an archive in *secret* holds is not for everybody: its pages are not named.
    """
    ours = {q: record for q, record in records.items() if q.archive == archive}
    return {
        question.side: {
            **({} if archive in secret else _asked(question)),
            "state": record.standing,
            "since": record.since,
            "last_asked": record.asked,
            "history": [_span(span) for span in record.spans],
        }
        for question, record in ours.items()
    }


def standings(
    records: Mapping[CanaryQuestion, CanaryRecord],
) -> dict[tuple[str, str], Standing]:
    """Return for each archive and page how it stands, in three words."""
    return {
        (question.archive, question.side): STANDINGS[record.standing]
        for question, record in records.items()
    }


def _span(span: CanarySpan) -> dict[str, object]:
    fields = msgspec.structs.asdict(span)
    return {"state": fields.pop("verdict"), **fields}


def _asked(question: CanaryQuestion) -> dict[str, object]:
    return {"url": question.url, "at": None if question.at is None else str(question.at)}
