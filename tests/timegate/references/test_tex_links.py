"""Addresses as TeX writes them."""

import pytest

from timegate.references.tex_links import without_tex


@pytest.mark.parametrize(
    "written",
    [
        r"http://a.example/\~{}b",
        r"http://a.example/{\~}b",
        r"http://a.example/\textasciitilde b",
        r"http://a.example/{\textasciitilde}b",
        r"http://a.example/$\sim$b",
        r"http://a.example/$_{\sim}$b",
        r"http://a.example/\string~b",
        r"http://a.example/\allowbreak{}~b",
    ],
)
def test_each_spelling_of_the_tilde_is_undone(written: str) -> None:
    assert without_tex(written) == "http://a.example/~b"


def test_escaped_characters_stand_for_themselves() -> None:
    assert without_tex(r"a\_b\%c\&d\#e\$f{_}g\textunderscore h") == "a_b%c&d#e$f_g_h"
