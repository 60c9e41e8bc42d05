"""References in JSON."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.references import BadInput
from timegate.references.lines import item_of, read_json, read_jsonl

URL = "http://www.dr.dk/"
PWID = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk/"


@pytest.mark.parametrize(
    "text",
    [
        f'["{URL}"]',
        f'[{{"url": "{URL}"}}]',
        f'\ufeff{{"title": "x", "references": [{{"Link": "{URL}"}}]}}',
        f'{{"url": "{URL}", "tags": ["a"], "notes": []}}',
    ],
)
def test_a_list_may_be_the_document_or_a_member_of_an_object(text: str) -> None:
    (item,) = read_json(text)

    assert item.references == (URL,)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            f'[{{"url": "{URL}"}},]',
            "in line 1; if each line is a value of its own, call the file .jsonl",
        ),
        (f'"{URL}"\n"{URL}"', "Extra data in line 2"),
        ("7", "not a list; expected a list"),
        ('{"title": "x"}', "an object with no lists"),
        ('{"a": [], "b": []}', "an object with 2 lists"),
        ("[" * 100_000, "cannot be read|not JSON"),
    ],
)
def test_other_json_is_rejected_with_what_was_expected(text: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        list(read_json(text))


def test_an_empty_document_is_an_empty_list() -> None:
    assert list(read_json("\ufeff \n")) == list(read_json("[]")) == []


@pytest.mark.parametrize("line", ['{"url": "http://a.example/"', '["http://a.example/"', '"a'])
def test_a_damaged_line_is_an_item_that_says_so(line: str) -> None:
    (item,) = read_jsonl(BytesIO(f"{line}\n".encode()))

    assert item.text == line
    assert item.trouble.startswith("not JSON: ")


def test_a_value_without_reference_is_an_item_to_be_refused() -> None:
    items = list(read_json(f'["{URL}", {{"title": "x"}}, 5, null]'))

    assert [item.text for item in items] == [URL, '{"title": "x"}', "5", "null"]
    assert all(item.references for item in items)


def test_a_reference_of_zotero_is_read_with_its_dates() -> None:
    item = item_of(
        0,
        {
            "id": "dr.2016",
            "URL": URL,
            "accessed": {"date-parts": [["2016", 1, 22]]},
            "issued": {"date-parts": [[2015]]},
            "date": {"raw": "x"},
        },
    )

    assert item.references == (URL, "dr.2016")
    assert item.dates == ("2016-01-22",)


def test_an_id_that_is_an_identifier_comes_first() -> None:
    assert item_of(0, {"url": URL, "id": PWID}).references == (PWID, URL)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["url", "id", "date", "accessed", "date-parts"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@given(_VALUES)
def test_any_value_is_an_item_with_a_reference(value: object) -> None:
    item = item_of(3, value)

    assert item.position == 3
    assert all(isinstance(text, str) for text in (*item.references, *item.dates))
    assert item.references


@pytest.mark.parametrize(
    ("also", "expected"),
    [
        ("http://b/", ("http://b/",)),
        (["http://b/", "http://c/"], ("http://b/", "http://c/")),
        (None, ()),
        ([""], ()),
    ],
)
def test_a_member_holds_equivalent_urls(also: object, expected: tuple[str, ...]) -> None:
    assert item_of(0, {"url": URL, "also": also}).also == expected
