"""What is given to a command as an ID: an identifier, or a text with a reference in it."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import click

from archives.diagnostics import Malformed
from archives.moment import Moment
from archives.registry import Registry, load_known
from timegate.citations import NO_DESCRIPTION, PageDescription
from timegate.citations.pasted import described_by
from timegate.cli.output import TYPED
from timegate.identifiers import parse
from timegate.identifiers.model import ParsedIdentifier
from timegate.references.detection import format_of_name
from timegate.references.pasted import read_pasted
from timegate.resolution.query import NotNegotiable
from timegate.text import counted
from timegate.verdict.words import DOUBTED, DOUBTED_LINK

if TYPE_CHECKING:
    from timegate.references.model import FoundReference

_MOST_LISTED: Final = 100
"""References that are listed; a batch reads all of them."""


@dataclass(frozen=True, slots=True)
class Given:
    """An ID of the command line."""

    title: str
    """The identifier, or the reference that was found in a text."""
    reading: ParsedIdentifier
    at: Moment | None
    """The time for a reference without one."""
    said: tuple[str, ...] = ()
    """Which date is used and why, and which are not."""
    doubt: bool = False
    """Whether another date or link may be meant."""
    is_link_doubted: bool = False
    """Whether the doubt is about the link, and not about the date."""
    described: PageDescription = NO_DESCRIPTION
    """What the text says about the page, for citations."""
    others: tuple[str, ...] = ()
    """Other links of the same citation."""

    @property
    def doubt_words(self) -> str:
        """The headline of a result in doubt; empty without a doubt."""
        if not self.doubt:
            return ""
        return DOUBTED_LINK if self.is_link_doubted else DOUBTED

    @property
    def members(self) -> Mapping[str, object]:
        """The members of the JSON output about a text; none for an identifier."""
        if not self.said:
            return {}
        return {"read": {"reference": self.title, "said": self.said, "doubt": self.doubt}}


class NoCopyNamed(Malformed):
    """A link to a list of captures, which names none of them."""

    def __str__(self) -> str:
        return self.why


class SeveralFound(ValueError):
    """A text with more than one reference."""

    def __init__(self, found: "Sequence[FoundReference]", options: str = "") -> None:
        """*options* are those of the command, with a blank before each."""
        super().__init__(f"{counted(len(found), 'reference')} in it: choose one")
        self._found = found
        self._options = options

    @property
    def references(self) -> list[str]:
        """The references, each with its date."""
        return [each.dated for each in self._found]

    @property
    def lines(self) -> Iterator[str]:
        """The references, each as a line to type, and the way to resolve all of them."""
        yield f"{counted(len(self._found), 'reference')} in this text. For one of them:"
        for each in self._found[:_MOST_LISTED]:
            yield f"  {line_to_type(each, options=self._options)}"
            yield from (f"    {said}" for said in each.said)
        if len(self._found) > _MOST_LISTED:
            yield f"  and {len(self._found) - _MOST_LISTED} more"
        yield (
            "For all of them, save the text as a file and run: "
            f"timegate resolve{self._options} --batch FILE"
        )


def line_to_type(
    found: "FoundReference", at: Moment | None = None, *, options: str = ""
) -> str:
    """Return the command that resolves *found*, or lists its captures."""
    quoted = shlex.quote(found.identifier)
    if found.kind == "captures":
        return f"timegate timemap{options} {quoted}"
    if at is None and found.dates.doubt:
        return f"timegate resolve{options} {shlex.quote(found.restated)}"
    at = at or found.at
    dated = "" if at is None else f" --at {at}"
    return f"timegate resolve{options}{dated} {quoted}"


def read_given(
    text: str, registry: Registry, at: Moment | None, now: datetime, options: str = ""
) -> Given:
    """Return what *text* refers to; *at* is used instead of dates in it.

    *options* are those of the command, for commands that are suggested.

    Raises Malformed, SeveralFound, and NotNegotiable if the URL of the page is missing.
    """
    pasted = read_pasted(text, registry, now)
    if pasted.reading is not None:
        return Given(text, pasted.reading, at)
    found = _only(pasted.found, options)
    if found.kind == "captures":
        why = f"{found.trouble.partition(':')[0]}: {line_to_type(found, options=options)}"
        raise NoCopyNamed("not-negotiable", why, 0)
    if found.kind != "reference":
        raise NotNegotiable("not-negotiable", _what_to_do(found, text, options))
    reading = parse(found.identifier, registry)
    described, others = described_by(found, text, registry), found.others
    if at is not None:
        dates = [str(each) for each in (found.at, *found.dates.choices) if each is not None]
        unused = [f"Not used: {' or '.join(dates)} in the text, since --at is given"]
        notes = (*found.notes, *(unused if dates and found.at != at else ()))
        doubt = found.incomplete
        return Given(found.identifier, reading, at, notes, doubt, doubt, described, others)
    choices = (
        f"With another date: {line_to_type(found, moment, options=options)}"
        for moment in found.dates.choices
    )
    said, doubt = (*found.said, *choices), found.dates.doubt
    is_link = found.is_link_doubted
    return Given(found.identifier, reading, found.at, said, doubt, is_link, described, others)


def read_page(text: str, registry: Registry, now: datetime, options: str = "") -> str:
    """Return the identifier of the page in *text*, of which all copies are meant.

    Raises Malformed, SeveralFound, and NotNegotiable if the URL of the page is missing.
    """
    pasted = read_pasted(text, registry, now)
    if pasted.reading is not None:
        return text
    found = _only(pasted.found, options)
    if found.kind not in ("reference", "captures"):
        raise NotNegotiable("not-negotiable", _what_to_do(found, text, options))
    return found.identifier


def piped_instead(name: str) -> str:
    """Return, for the name of a list that is an ID, the line that gives the ID as a list.

    It is empty for any other name, and for one that is that of a file.
    """
    if _looks_like_file(name):
        return ""
    try:
        parse(name, load_known())
    except Malformed:
        return ""
    words: tuple[str, ...] = click.get_current_context().meta.get(TYPED, ())
    line = shlex.join(["timegate", *("-" if word == name else word for word in words)])
    return f"\nFor a list of one ID, type: printf '%s\\n' {shlex.quote(name)} | {line}"


def _looks_like_file(name: str) -> bool:
    """Whether *name* is rather that of a file than a URL without its scheme."""
    if "://" in name:
        return False
    folder = name.partition("/")[0] if "/" in name else ""
    is_path = name.startswith(("/", "./", "../", "~")) or "." not in folder
    return is_path and (format_of_name(name) is not None or name.lower().endswith(_TEXTS))


_TEXTS: Final = (".txt", ".log", ".lst", ".list", ".dat")


def refusal_lines(text: str, error: ValueError) -> Iterator[str]:
    """Yield why a command cannot use *text*, and the references in it if there are several."""
    yield f"{text}: {error}"
    if isinstance(error, SeveralFound):
        yield from (f"  {reference}" for reference in error.references)


def _only(found: "Sequence[FoundReference]", options: str) -> "FoundReference":
    """Return the one reference that was found. Raises SeveralFound."""
    usable = [each for each in found if each.kind != "faulty"]
    if len(usable) > 1:
        raise SeveralFound(usable, options)
    return usable[0]


def _what_to_do(found: "FoundReference", text: str, options: str) -> str:
    # A link without a scheme cannot be opened as it is written.
    link = "it" if found.identifier in text else found.identifier
    at = "DATE" if found.dates.at is None else str(found.dates.at)
    command = f"timegate resolve{options} --at {at} URL"
    return f"{found.trouble}: open {link} to see that URL, then {command}"
