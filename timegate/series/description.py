"""Descriptions of series, documents and lists as JSON: what N2C and the pages show."""

from collections.abc import Sequence

from archives.moment import Moment
from timegate.series import Assertion, Representation, SeriesDocument, SeriesSettings

Json = dict[str, object]


def described(document: SeriesDocument, assertions: Sequence[Assertion], base_url: str) -> Json:
    """Describe a document: its versions and formats, digests, sizes, and all assertions."""
    highest = document.highest
    return {
        "pdi": str(document.name),
        "series": document.name.series,
        "date": "-".join(document.name.date),
        "unique_id": document.name.unique_id,
        "minted": str(Moment(document.minted)),
        "highest_version": highest,
        "versions": document.versions,
        "formats": document.formats,
        "representations": [of_representation(r, base_url) for r in document.representations],
        "assertions": [of_assertion(assertion) for assertion in assertions],
    }


def of_representation(found: Representation, base_url: str) -> Json:
    """Describe one version in one format."""
    members: Json = {
        "pdi": found.pdi,
        "uri": f"{base_url}/{found.pdi}",
        "version": found.version,
        "format": found.format,
        "media_type": found.media_type,
        "digest": found.digest,
        "size": found.size,
        "minted": str(Moment(found.stamp)),
        "minted_by": found.minter or None,
    }
    if found.uri is not None:
        members["bound_to"] = found.uri
        members["binding"] = "indirect" if found.is_bound else "replaced by the bytes"
    return members


def of_assertion(assertion: Assertion) -> Json:
    """Describe an assertion."""
    return {
        "about": assertion.subject,
        "key": assertion.key,
        "value": assertion.value,
        "who": assertion.who or None,
        "when": str(Moment(assertion.stamp)),
    }


def of_series(settings: SeriesSettings, counts: Sequence[tuple[str, int]]) -> Json:
    """Describe a series: the days for which it answers, delegations, documents by year."""
    first, last = settings.interval.first, settings.interval.last
    return {
        "series": settings.name,
        "pdi": f"pdi://{settings.name}/",
        "since": None if first is None else first.isoformat(),
        "until": None if last is None else last.isoformat(),
        "minting": bool(settings.minters) and settings.is_mintable,
        "delegations": [
            {
                "resolver": each.resolver,
                "how": each.how,
                "series": each.subseries or settings.name,
                "since": each.interval.first and each.interval.first.isoformat(),
                "until": each.interval.last and each.interval.last.isoformat(),
            }
            for each in settings.delegations
        ],
        "documents": [{"date": day.replace("/", "-"), "count": n} for day, n in counts],
    }
