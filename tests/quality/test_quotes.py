"""The goals for quotations hold over a small corpus; `make quality` has a large one."""

from tests.quality.quotes import baseline_figures, quote_figures


def test_quotations_are_found_and_nothing_else_is() -> None:
    figures = quote_figures(60, seed=2)

    copied = figures["exact"] + figures["moved"]
    assert copied["found"] >= 0.99 * copied.total()
    assert figures["absent"]["found"] == 0
    assert figures["edited"]["found"] == 0
    assert figures["edited"]["near"] >= 0.9 * figures["edited"].total()
    assert baseline_figures(20, seed=2)["absent"]["found"] == 0
