from archives.model import Memento
from archives.moment import Moment
from archives.warc.captures import Digest
from timegate.content.classes import Judgement
from timegate.content.comparison import Comparison, PageClass
from timegate.content.judging import LookedCopy, better_copy, compared_copies, dissenting
from timegate.content.main_text import PageText

AT = Moment("20160515120000")
WORDS = "one two three four five six seven eight nine ten eleven twelve"
OTHER = "red green blue white black brown pink grey gold teal navy lime"


def copy(
    stamp: str, text: str | None, archive: str = "one", parked: PageClass | None = None
) -> LookedCopy:
    memento = Memento(stamp, f"http://{archive}.example/{stamp}", "http://e.org/", archive)
    page = None if text is None else PageText(main=text, text=text)
    why = ("it says so",) if parked else ()
    return LookedCopy(memento, page, judgement=Judgement(parked, why), address=memento.uri)


BEFORE, AFTER = copy("20160501000000", WORDS), copy("20160601000000", WORDS)


def test_the_same_text_on_both_sides_is_similar() -> None:
    found = compared_copies(BEFORE, [AFTER], AT)
    assert (found.value, found.basis, found.similarity) == ("similar-around", "text", 100)
    assert (found.before, found.after) == (BEFORE.memento, AFTER.memento)


def test_another_text_has_changed() -> None:
    found = compared_copies(BEFORE, [copy("20160601000000", OTHER)], AT)
    assert (found.value, found.similarity) == ("changed", 0)


def test_a_copy_that_was_not_read_decides_nothing() -> None:
    unread = copy("20160601000000", None)._replace(failure="it is down")
    found = compared_copies(BEFORE, [unread], AT)
    assert (found.value, found.failure) == ("alone", "it is down")
    assert compared_copies(unread, [BEFORE], AT).value == "not-looked"


def test_what_digests_have_shown_stands() -> None:
    known = Comparison("same-around", "digest", BEFORE.memento, AFTER.memento)
    assert compared_copies(BEFORE, [], AT, known).value == "same-around"


def test_a_copy_of_the_time_itself_is_compared_with_both_neighbours() -> None:
    inside = copy("20160515120000", WORDS)
    found = compared_copies(inside, [BEFORE, copy("20160601000000", OTHER)], AT)
    assert found.value == "changed"
    assert compared_copies(inside, [], AT).value == "alone"


def test_the_nearest_page_is_better_than_none() -> None:
    parked = copy("20160514000000", WORDS, parked=PageClass.PARKED)
    assert better_copy(parked, [AFTER, BEFORE, copy("2016051400000", None)], AT) is BEFORE
    assert better_copy(BEFORE, [AFTER], AT) is None
    assert better_copy(parked, [BEFORE, AFTER], None) is AFTER


def test_one_of_three_that_differs_dissents() -> None:
    same = [copy("20160501000000", WORDS, name) for name in ("one", "two")]
    liar = copy("20160501060000", OTHER, "three")
    assert dissenting([*same, liar]) == ("three",)
    assert dissenting([same[0], liar]) == ()


def test_three_texts_that_all_differ_are_no_dissent() -> None:
    texts = (WORDS, OTHER, "a completely different third text that shares nothing with them")
    copies = [copy("20160501000000", text, f"a{n}") for n, text in enumerate(texts)]
    assert dissenting(copies) == ()


def test_the_nearest_page_before_the_time_is_preferred_to_older_ones() -> None:
    parked = copy("20160514000000", WORDS, parked=PageClass.PARKED)
    assert better_copy(parked, [copy("20010101000000", WORDS), BEFORE], AT) is BEFORE
    assert better_copy(parked, [copy("20010101000000", WORDS), AFTER], AT) is AFTER


def test_an_error_page_between_two_copies_of_a_text_is_passed_over() -> None:
    error = copy("20160520000000", OTHER, parked=PageClass.SOFT_404)
    found = compared_copies(BEFORE, [error, AFTER], AT)
    assert (found.value, found.basis, found.similarity) == ("similar-around", "text", 100)
    assert (found.before, found.after) == (BEFORE.memento, AFTER.memento)
    assert found.after_class is None


def test_a_side_of_nothing_but_a_parked_domain_has_changed_and_is_named() -> None:
    parked = copy("20160601000000", OTHER, parked=PageClass.PARKED)
    found = compared_copies(BEFORE, [parked], AT)
    assert (found.value, found.after_class, found.page_class) == ("changed", "parked", None)
    inside = copy("20160515120000", WORDS)
    found = compared_copies(inside, [parked], AT)
    assert (found.value, found.before, found.after_class) == (
        "changed",
        inside.memento,
        "parked",
    )


SAME = Digest("sha1", b"1" * 20)


def test_the_same_octets_around_an_error_page_are_only_similar() -> None:
    error = copy("20160520000000", OTHER, parked=PageClass.SOFT_404)
    sides = [each._replace(digest=SAME) for each in (BEFORE, AFTER)]
    found = compared_copies(sides[0], [error, sides[1]], AT)
    assert (found.value, found.basis) == ("similar-around", "text")


def read_copy(stamp: str, digest: Digest | None = SAME, text: str | None = WORDS) -> LookedCopy:
    return copy(stamp, text)._replace(digest=digest)


def test_the_same_octets_that_were_read_on_both_sides_are_the_same() -> None:
    sides = read_copy("20160501000000"), read_copy("20160601000000")
    assert compared_copies(sides[0], sides[1:], AT).value == "same-around"


def test_a_chosen_copy_between_with_other_octets_is_not_the_same() -> None:
    sides = [read_copy("20160501000000"), read_copy("20160601000000")]
    inside = read_copy("20160515120000", Digest("sha1", b"2" * 20))
    found = compared_copies(inside, sides, AT)
    assert (found.value, found.basis) == ("similar-around", "text")


def test_a_nearer_copy_that_was_not_read_prevents_it() -> None:
    sides = read_copy("20160501000000"), read_copy("20160601000000")
    unread = read_copy("20160510000000", None, None)._replace(failure="it is down")
    found = compared_copies(sides[0], [sides[1], unread], AT)
    assert (found.value, found.similarity, found.failure) == (
        "similar-around",
        100,
        "it is down",
    )
