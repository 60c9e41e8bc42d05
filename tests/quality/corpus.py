"""The corpus: single pages with their class, and pairs of copies that are the same page or not."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, NamedTuple

from tests.quality import others
from tests.quality.frames import HELD_OUT, HELD_OUT_MORE, TUNED, Frame, Site, framed, site
from tests.quality.others import Message
from tests.quality.texts import article, sentence, title

Half = str
"""A half of the corpus."""
HALVES: Final[tuple[Half, ...]] = ("tuned", "held-out")
URL: Final = "http://{domain}/articles/2016/harbour.html"


class Sample(NamedTuple):
    """One page, and its class; empty for a usual page."""

    octets: bytes
    label: str
    kind: str
    """What it was made from, for the list of errors."""
    url: str
    redirect: str | None = None
    """Where an archived redirect leads."""


class Pair(NamedTuple):
    """Two copies, and whether they are the same page."""

    one: bytes
    other: bytes
    same: bool
    kind: str


@dataclass(frozen=True)
class _Make:
    """What one half of the corpus is made from."""

    frames: Mapping[str, Frame]
    languages: tuple[str, ...]
    soft_404: Sequence[Message]
    parked: Sequence[str]
    consent: Sequence[Message]
    login: Sequence[Message]
    empty: Sequence[str]
    lookalikes: Sequence[Message]
    short: Sequence[Message]


MAKES: Final[Mapping[Half, _Make]] = {
    "tuned": _Make(
        TUNED,
        ("en", "de", "fr"),
        others.SOFT_404,
        others.PARKED,
        others.CONSENT,
        others.LOGIN,
        others.EMPTY,
        others.LOOKALIKES,
        others.SHORT,
    ),
    "held-out": _Make(
        {**HELD_OUT, **HELD_OUT_MORE},
        ("es", "it", "nl"),
        others.SOFT_404_HELD_OUT,
        others.PARKED_HELD_OUT,
        others.CONSENT_HELD_OUT,
        others.LOGIN_HELD_OUT,
        others.EMPTY_HELD_OUT,
        others.LOOKALIKES_HELD_OUT,
        others.SHORT_HELD_OUT,
    ),
}


def samples(half: Half, number: int, seed: int = 1) -> Iterator[Sample]:
    """Yield *number* rounds of pages of each class."""
    make, random = MAKES[half], Random(f"{half} {seed}")
    for _ in range(number):
        yield from _round(make, random)


def _round(make: _Make, random: Random) -> Iterator[Sample]:
    domain = (
        f"{random.choice(('north', 'amber', 'quay', 'letters'))}{random.randint(1, 999)}.org"
    )
    url = URL.format(domain=domain)
    frame, own = random.choice([*make.frames.values()]), site(random)

    def message(found: Message, label: str, kind: str, field: str = "") -> Sample:
        return Sample(_message(found, frame, own, random, field), label, kind, url)

    yield message(random.choice(make.soft_404), "soft-404", "soft-404")
    bare = random.choice(make.soft_404)
    yield Sample(
        f"<html><head><title>{bare.title}</title></head><body><h1>{bare.heading}</h1>"
        f"<p>{bare.text}</p></body></html>".encode(),
        *("soft-404", "soft-404 alone", url),
    )
    links = "".join(f"<li><a href='/?q={n}'>{_word(random)}</a></li>" for n in range(8))
    parked = random.choice(make.parked).format(domain=domain, links=links)
    yield Sample(parked.encode(), "parked", "parked", url)
    yield message(
        random.choice(make.consent), "consent-wall", "consent", "<button>Accept</button>"
    )
    field = "<form><input name=user><input type=password name=p><button>OK</button></form>"
    yield message(random.choice(make.login), "login-wall", "login", field)
    empty = random.choice(make.empty).format(domain=domain)
    yield Sample(empty.encode(), "nearly-empty", "empty", url)
    language = random.choice(make.languages)
    root = framed(frame, own, own.name, article(random, language, 12), shape=1, day=2)
    yield Sample(root, "redirect-to-root", "root", url, f"http://{domain}/")
    yield from _usual(make, random, frame, own, url)


def _usual(make: _Make, random: Random, frame: Frame, own: Site, url: str) -> Iterator[Sample]:
    """Yield pages that have no class, some of which look as if they had one."""
    language = random.choice(make.languages)
    for length in (4, 9, 30):
        text = article(random, language, length)
        page = framed(frame, own, title(random, language), text, shape=3, day=4)
        yield Sample(page, "", f"article of {length}", url)
    alike = random.choice(make.lookalikes)
    text = [alike.text, *article(random, "en", random.randint(6, 15)), alike.text]
    page = framed(frame, own, alike.heading, text, shape=5, day=6)
    yield Sample(page, "", f"lookalike {alike.title}", url)
    short = random.choice(make.short)
    yield Sample(_message(short, frame, own, random), "", f"short {short.title}", url)
    moved = framed(
        frame, own, title(random, language), article(random, language, 9), shape=1, day=2
    )
    yield Sample(moved, "", "redirect to https", url, url.replace("http:", "https:"))
    box = "<form class=search><input name=q></form><div class=cookie>We use cookies. <a>OK</a></div>"
    text = [box, *article(random, language, 14)]
    page = framed(frame, own, title(random, language), text, shape=7, day=8)
    yield Sample(page, "", "article with a cookie banner", url)


def _message(found: Message, frame: Frame, own: Site, random: Random, field: str = "") -> bytes:
    text = [found.text, field] if field else [found.text]
    day = random.randint(1, 10**6)
    page = framed(frame, own, found.heading, text, shape=1, day=day).decode()
    return page.replace(f"<title>{found.heading}", f"<title>{found.title}", 1).encode()


def _word(random: Random) -> str:
    return random.choice(("Loans", "Hotels", "Shoes", "Insurance", "Flights", "Cars", "Phones"))


def pairs(half: Half, number: int, seed: int = 1) -> Iterator[Pair]:
    """Yield *number* rounds of pairs of each kind."""
    make, random = MAKES[half], Random(f"pairs {half} {seed}")
    for _ in range(number):
        yield from _pair_round(make, random)


def _pair_round(make: _Make, random: Random) -> Iterator[Pair]:
    language, frame, own = random.choice(make.languages), _any(make, random), site(random)
    text, name = article(random, language, random.choice((5, 12, 30))), title(random, language)

    def page(sentences: Sequence[str], heading: str = name, made: Frame = frame) -> bytes:
        return framed(made, own, heading, sentences, shape=9, day=random.randint(1, 10**6))

    first = page(text)
    yield Pair(first, page(text), True, "advertisements and dates")
    yield Pair(first, page(_edited(text, random, 0.1, language)), True, "small edits")
    yield Pair(first, page(_typos(text, random)), True, "spelling")
    yield Pair(first, page([*text, sentence(random, language)]), True, "one sentence more")
    yield Pair(first, page(text, name, _any(make, random)), True, "another design")
    yield Pair(
        first, page(_edited(text, random, 0.2, language), f"{name}!"), True, "a fifth new"
    )
    fresh, fresh_name = article(random, language, len(text)), title(random, language)
    yield Pair(first, page(fresh, fresh_name), False, "another article of the site")
    yield Pair(first, page(_edited(text, random, 0.75, language)), False, "three quarters new")
    foreign = random.choice([each for each in make.languages if each != language])
    translated = article(random, foreign, len(text))
    yield Pair(first, page(translated, title(random, foreign)), False, "translation")
    error = random.choice(make.soft_404)
    yield Pair(first, _message(error, frame, own, random), False, "error page")
    parked = random.choice(make.parked).format(domain="north.org", links="")
    yield Pair(first, parked.encode(), False, "parked")
    wall = random.choice((*make.consent, *make.login))
    yield Pair(first, _message(wall, frame, own, random), False, "wall")


def _any(make: _Make, random: Random) -> Frame:
    return random.choice([*make.frames.values()])


def _edited(text: Sequence[str], random: Random, share: float, language: str) -> list[str]:
    """Return *text* with a share of its sentences replaced, at least one."""
    number = max(1, round(share * len(text)))
    places = {*random.sample(range(len(text)), number)}
    return [sentence(random, language) if n in places else each for n, each in enumerate(text)]


def _typos(text: Sequence[str], random: Random) -> list[str]:
    """Return *text* with a letter changed in some sentences."""
    changed = []
    for each in text:
        at = random.randrange(len(each))
        changed.append(each[:at] + "x" + each[at + 1 :] if random.random() < 0.5 else each)
    return changed
