"""How much of their text two pages have in common."""

import unicodedata
from collections import Counter
from typing import Final

from archives.regex_compat import compiled
from timegate.content.main_text import PageText

SAME_PAGE: Final = 50
"""Percent of the text that two copies of one page have in common at least."""
_MOST_WORDS: Final = 20_000
_LEAST_MAIN: Final = 8
"""Words of a main text; with fewer of them, all text is compared."""
_SHINGLE: Final = 3
_SAME_LANGUAGE: Final = 75
"""Percent of the text in common, from which on both texts are in one language."""
_KIN: Final = (
    frozenset(("pt", "gl", "es")),
    frozenset(("da", "no", "nb", "nn", "sv")),
    frozenset(("cs", "sk")),
    frozenset(("hr", "sr", "bs", "sl", "sh")),
    frozenset(("id", "ms")),
    frozenset(("bg", "mk")),
    frozenset(("ru", "uk", "be")),
    frozenset(("nl", "af")),
    frozenset(("ca", "oc")),
    frozenset(("zh", "ja", "wuu", "yue")),
)
"""Languages that are taken for each other; sequences of words tell them apart."""
# Chinese, Japanese and Thai have no spaces between words: there, each character is one.
_UNSPACED: Final = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD: Final = compiled(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]++")


def words(text: str) -> list[str]:
    """Return the words of *text*, without capitals and typographic differences."""
    plain = unicodedata.normalize("NFKC", text[: 10 * _MOST_WORDS]).casefold()
    # The dotted capital I of Turkish becomes two characters, of which one is no letter.
    plain = plain.replace("i\u0307", "i")
    return _WORD.findall(plain)[:_MOST_WORDS]


def similarity(one: PageText, other: PageText) -> int | None:
    """Return the percentage of text that both pages have; None if neither has any.

    It counts sequences of three words: twice those in common, of all in both (Dice).
    """
    first, second = words(one.main), words(other.main)
    if min(len(first), len(second)) < _LEAST_MAIN:
        first, second = words(one.text), words(other.text)
    if not first and not second:
        return None
    left, right = _shingles(first), _shingles(second)
    common = (left & right).total()
    return round(200 * common / (left.total() + right.total()))


def _shingles(found: list[str]) -> Counter[tuple[str, ...]]:
    size = min(_SHINGLE, len(found))
    if not size:
        return Counter()
    return Counter(zip(*(found[at:] for at in range(size)), strict=False))


def common_text(one: PageText, other: PageText) -> int | None:
    """Return the percentage of text that both pages have; 0 if one is a translation.

    Where most of the words are the same, two languages are a mistake of their detection:
    Portuguese and Galician, Danish and Norwegian have many words in common.
    """
    percent = similarity(one, other)
    if percent is None or percent >= _SAME_LANGUAGE:
        return percent
    languages = {one.language, other.language} - {""}
    is_kin = any(languages <= kin for kin in _KIN)
    return 0 if len(languages) > 1 and not is_kin else percent


def is_same_page(one: PageText, other: PageText) -> bool | None:
    """Whether at least half of their text is the same; None if neither has any."""
    percent = common_text(one, other)
    return None if percent is None else percent >= SAME_PAGE
