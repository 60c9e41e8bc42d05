"""Walls: pages that ask for a login, for consent, or whether the reader is a person."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from timegate.content.blocks import TextBlock
from timegate.content.class_phrases import all_said, first_said, said_near
from timegate.content.page_view import (
    A_SUBJECT,
    BEGINNING,
    FORM,
    HEADING_WORDS,
    LINKED,
    LONG,
    NOTICE,
    SHORT,
    Feature,
    PageView,
    leading_lines,
    length_feature,
    named_heading,
    spaced,
)
from timegate.content.similarity import words

_A_LINE: Final = 5
"""Words beside a question for consent that are a page, if the heading is of the page."""
_CAPTION: Final = 6
"""Words of a button at most."""
_FEW_TERMS: Final = 3
_FEW_LINKS: Final = 10
_FEW_LINES: Final = 4
"""The title and the first lines of a page, which say what it wants."""
_REST: Final = 25
"""Words beside a question for consent, from which on there is a page to read."""
_POLICY: Final = 180
"""Words on cookies that are a policy, and not a question."""


_LOGIN_ADDRESSES: Final = (
    *("/login", "/signin", "/sign-in", "/sso/", "/cas/", "/idp/", "shibboleth", "/accounts/"),
    *(
        "/auth/",
        "/oauth",
        "/session",
        "wp-login",
        "ucp.php?mode=login",
        "ezproxy",
        "openathens",
    ),
)


def login_features(seen: PageView) -> Iterator[Feature]:
    if seen.page.passwords:
        is_form = seen.length <= FORM and seen.subject < A_SUBJECT
        yield Feature(1.5 if is_form else 1, "a field for a password")
    yield from _check_for_programs(seen)
    blocks = _without_comments(seen)
    said = first_said("login-wall", "strong", blocks) or first_said(
        "login-wall", "strong", "".join(seen.headings)
    )
    if said:
        yield Feature(1.5, f"it says {said!r}")
    named = named_heading(seen, "login-wall", seen.headings, most=5)
    asked = next(filter(None, (_asked(seen, heading) for heading in seen.headings)), "")
    if named or asked:
        yield Feature(1, f"the title or heading is {named or asked!r}")
    weak = [*all_said("login-wall", "weak", seen.everything)]
    if weak:
        yield Feature(0.5, f"it says {weak[0]!r}")
    if _is_login_address(seen):
        yield Feature(0.5, "its address is that of a login")
    if seen.subject >= A_SUBJECT and not named and not asked:
        yield Feature(-0.5, "")
    yield Feature(-1.5 if seen.length > SHORT else 0, "")
    yield length_feature(seen)


_CAPTCHAS: Final = (
    *("captcha-delivery.com", "hcaptcha.com", "h-captcha", "px-captcha", "g-recaptcha"),
    *("recaptcha/api", "cf-turnstile", "cf-challenge", "cf-browser-verification", "cf-chl"),
    *("challenge-platform", "geetest", "arkoselabs", "funcaptcha", "smartcaptcha", "awswaf"),
    *("_incapsula_resource", "perimeterx", "friendly-challenge", "mtcaptcha"),
)
"""In classes, scripts and frames."""


def _check_for_programs(seen: PageView) -> Iterator[Feature]:
    """Yield what a page says that wants to know whether its reader is a person."""
    if seen.length > SHORT:
        return
    shown = (seen.page.title, *leading_lines(seen.page))[:_FEW_LINES]
    named = next(filter(None, (_human(spaced(words(each))) for each in shown)), "")
    sure = first_said("login-wall", "human", " ".join((seen.beginning, *seen.titles)))
    said = sure or _human(seen.beginning) or named
    if said:
        yield Feature((2 if sure else 1.5) + 0.5 * bool(named), f"it says {said!r}")
    # A form beside it can be that of a usual page: to write a letter or a comment.
    code = " ".join((seen.marks, seen.page.script_text, *seen.page.frames)).lower()
    mark = next((each for each in _CAPTCHAS if each in code), "")
    if mark and seen.length <= NOTICE and not _fields(seen):
        is_page = seen.subject >= A_SUBJECT and not said
        yield Feature(1 if is_page or said else 2, f"it is shown with {mark!r}")


def _human(text: str) -> str:
    return first_said("login-wall", "human", text) or said_near("human", text)


def _fields(seen: PageView) -> bool:
    """Whether a form has fields to write in."""
    kinds = {*seen.page.inputs.lower().split()}
    return not kinds.isdisjoint(("text", "email", "tel", "name", "message", "password"))


def _asked(seen: PageView, heading: str) -> str:
    """Return what a heading asks for; beside a subject, it says little else."""
    asked = first_said("login-wall", "strong", heading)
    is_most = 2 * len(asked.split()) >= len(heading.split())
    return asked if is_most or seen.subject < A_SUBJECT else ""


def _is_login_address(seen: PageView) -> bool:
    canonical = seen.page.canonical.lower()
    return any(each in canonical for each in _LOGIN_ADDRESSES)


_COMMENTS: Final = (
    *("comment", "comments", "reply", "review", "vote", "rate", "kommentar", "kommentieren"),
    *(
        "commentaire",
        "comentario",
        "comentar",
        "comentário",
        "commento",
        "commentare",
        "reactie",
    ),
    *("reageren", "kommentera", "kommentere", "komentarz", "komentář", "комментар", "评论"),
)


def _without_comments(seen: PageView) -> str:
    """Return the first words, without sentences on who may comment."""
    kept = [
        block.text
        for block in seen.page.blocks[:60]
        if not any(f"{each}" in block.text.casefold() for each in _COMMENTS)
    ]
    if not seen.page.blocks:
        return seen.beginning
    return spaced(words(" ".join(kept))[: 2 * BEGINNING])


class _Question(NamedTuple):
    """What of a page asks for consent, and what does not."""

    text: str
    rest: int
    """Words of running text beside it."""
    is_framed: bool
    """Whether it is in the frame of a consent manager, which may stand over a page."""
    has_action: bool
    """Whether there is a button or a sentence to agree or to refuse."""
    has_button: bool = False


def _question(seen: PageView) -> _Question:
    blocks = [block for block in seen.page.blocks if block.place in ("main", "consent")]
    if not blocks:
        body = seen.beginning if seen.length >= HEADING_WORDS else seen.everything
        return _Question(body, 0, is_framed=False, has_action=True)
    framed = [block for block in blocks if block.place == "consent"]
    # With a frame around the question, what else speaks of consent is the page.
    loose = [block for block in blocks if block.place == "main" and _asks(block.text)]
    asking = [*framed, *loose] if not framed or any(map(_is_action, loose)) else framed
    others = [block for block in blocks if block not in asking and not block.is_heading]
    lines = [len(words(block.text)) for block in others if block.links < LINKED]
    rest = sum(length for length in lines if length >= _A_LINE)
    text = spaced(words(" ".join(block.text for block in asking)))
    has_button = any(map(_is_action, asking))
    phrases = (each for each in all_said("consent-wall", "actions", text) if " " in each)
    return _Question(text, rest, bool(framed), has_button or any(phrases), has_button)


def _is_action(block: TextBlock) -> bool:
    """Whether a block is a button or a link to agree or to refuse."""
    caption = words(block.text)
    is_button = len(caption) <= _CAPTION and block.links >= LINKED
    return is_button and bool(first_said("consent-wall", "actions", spaced(caption)))


def consent_features(seen: PageView) -> Iterator[Feature]:
    question = _question(seen)
    terms = [*dict.fromkeys(all_said("consent-wall", "terms", question.text))]
    if len(terms) >= _FEW_TERMS:
        yield Feature(0.5 * min(len(terms), 6), f"it speaks of {', '.join(terms[:5])}")
    is_alone = question.is_framed and not question.rest and not seen.length
    if is_alone and len(terms) >= A_SUBJECT:
        yield Feature(2, "there is nothing but a question for consent")
    named = named_heading(seen, "consent-wall", seen.headings, spare=2)
    is_all = question.has_button and not question.is_framed and not question.rest
    # A list of links is a page too.
    if is_all and (named or (len(terms) >= _FEW_TERMS and seen.page.links <= _FEW_LINKS)):
        yield Feature(1, "there is nothing but a question for consent")
    if named and terms:
        yield Feature(1, f"the title or heading is {named!r}")
    if any(first_said("consent-wall", "policies", heading) for heading in seen.headings):
        yield Feature(-2, "")
    if not question.has_action:
        yield Feature(-1.5, "")
    # A banner over a page leaves the page to read.
    least = _A_LINE if seen.subject else 2 * _A_LINE
    has_page = question.is_framed and question.rest >= least
    is_asked = bool(named) and seen.subject < A_SUBJECT and seen.length <= LONG
    if (question.rest > _REST and not is_asked) or has_page:
        yield Feature(-2, "")
    is_policy = len(question.text.split()) > _POLICY
    yield Feature(-2 if question.rest > LONG or is_policy else 0, "")


def _asks(text: str) -> bool:
    """Whether a block asks for consent: several terms in few words, or a button."""
    terms = {*all_said("consent-wall", "terms", spaced(words(text)))}
    length = len(words(text))
    return len(terms) >= 2 if length > 6 else bool(terms)
