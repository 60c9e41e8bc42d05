"""The page between a reference and a copy that is not quite what was asked for."""

from collections.abc import Mapping
from html import escape


def interstitial(report: Mapping[str, object], words: str) -> str:
    """Write what differs, with the copy one click away."""
    memento = report["memento"]
    copy = memento if isinstance(memento, dict) else {}
    uri = escape(str(copy.get("uri", "")))
    alternatives = report.get("alternatives")
    others = "".join(
        f'<li><a rel="noreferrer" href="{escape(str(one["uri"]))}">'
        f"{escape(str(one['archive']))}</a>, {escape(str(one['datetime']))}</li>"
        for one in (alternatives if isinstance(alternatives, list) else [])
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>A copy of {escape(str(report['original']))}</title>"
        f"<h1>{escape(words[:1].upper() + words[1:])}</h1>"
        f'<p><a rel="noreferrer" href="{uri}">Go to the copy</a> '
        f"in {escape(str(copy.get('archive')))}, "
        f"captured {escape(str(copy.get('datetime')))}.</p>"
        f"<p>Asked for: {escape(str(report.get('identifier') or report['original']))}</p>"
        + (f"<h2>Other copies</h2><ul>{others}</ul>" if others else "")
        + "</html>"
    )
