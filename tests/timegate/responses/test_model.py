"""Reading request targets: the identifier, and which parameters after it are ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.responses.model import (
    OWN_PARAMETERS,
    UnknownParameter,
    encoded_path,
    identifier_in,
    near_parameter,
    resolve_path,
    without_parameters,
)

URL = "http://example.org/a"


@pytest.mark.parametrize(
    ("rest", "identifier", "parameters"),
    [
        (URL, URL, {}),
        (f"{URL}?as=json", URL, {"as": "json"}),
        (f"{URL}?as=json&wait=3", URL, {"as": "json", "wait": "3"}),
        (f"{URL}?archives=a&archives=b", URL, {"archives": "a,b"}),
        (f"{URL}?b=c?as=json", f"{URL}?b=c", {"as": "json"}),
        (f"{URL}?b=c", f"{URL}?b=c", {}),
        (f"{URL}?q=x&exact=1", f"{URL}?q=x&exact=1", {}),
        (f"{URL}?as", f"{URL}?as", {}),
    ],
)
def test_parameters_follow_the_last_question_mark(
    rest: str, identifier: str, parameters: dict[str, str]
) -> None:
    assert without_parameters(rest) == (identifier, parameters)


@pytest.mark.parametrize(
    ("query", "unknown", "known"),
    [
        ("as=json&tolerence=24h", "tolerence", "tolerance"),
        ("Precison=day&as=json", "Precison", "precision"),
        ("archive=a&as=json", "archive", "archives"),
        ("as=json&exact=true", "exact", "precision=exact"),
        ("as=json&target_window=86400", "target_window", "tolerance=86400s"),
        ("exact=true", "exact", "precision=exact"),
        ("exact=true&target_window=60", "exact", "precision=exact"),
    ],
)
def test_an_unknown_neighbour_is_refused_with_the_name_that_is_meant(
    query: str, unknown: str, known: str
) -> None:
    with pytest.raises(UnknownParameter) as refusal:
        without_parameters(f"{URL}?{query}")

    assert refusal.value.name == unknown
    assert str(refusal.value).startswith(f"{unknown!r} is not a parameter; write ")
    assert known in str(refusal.value)


def test_a_name_that_resembles_none_gets_no_suggestion() -> None:
    with pytest.raises(UnknownParameter, match=r"'lang' is not a parameter$"):
        without_parameters(f"{URL}?lang=de&as=json")


@pytest.mark.parametrize("name", sorted(OWN_PARAMETERS))
def test_a_misspelled_parameter_is_recognised(name: str) -> None:
    assert len(name) < 4 or near_parameter(name[:-2] + name[-1]) == name


@pytest.mark.parametrize(
    ("rest", "name", "path"),
    [
        (
            f"{URL}?tolerence=24h&as=json",
            "tolerence",
            "/resolve/http%3A%2F%2Fexample.org%2Fa%3Ftolerence%3D24h?as=json",
        ),
        (
            f"{URL}?direction=asc",
            "direction",
            "/resolve/http%3A%2F%2Fexample.org%2Fa%3Fdirection%3Dasc",
        ),
        (
            "http%3A%2F%2Fexample.org%2Fa%3Fb?c=%C3%A9&as=json",
            "c",
            "/resolve/http%3A%2F%2Fexample.org%2Fa%3Fb%3Fc%3D%25C3%25A9?as=json",
        ),
    ],
)
def test_the_encoded_path_makes_a_parameter_part_of_the_url(
    rest: str, name: str, path: str
) -> None:
    assert encoded_path(rest, name) == path


queries = st.text("abcsw=&?%+/:;,.~-_09", max_size=40)


@given(queries)
def test_an_identifier_with_any_query_survives_its_path(query: str) -> None:
    identifier = f"{URL}?{query}"

    text, parameters = without_parameters(resolve_path(identifier).removeprefix("/resolve/"))

    assert (identifier_in(text), parameters) == (identifier, {})


@given(queries)
def test_following_the_advice_keeps_every_parameter_of_the_url(query: str) -> None:
    rest = f"{URL}?{query}&tolerence=1&as=json"
    with pytest.raises(UnknownParameter) as refusal:
        without_parameters(rest)

    path = encoded_path(rest, refusal.value.name)
    text, parameters = without_parameters(path.removeprefix("/resolve/"))

    assert parameters == {"as": "json"}
    assert identifier_in(text) == f"{URL}?{query}&tolerence=1"


def test_a_name_without_a_value_belongs_to_the_url() -> None:
    path = encoded_path(f"{URL}?as&tolerence=1&as=json", "tolerence")

    assert path == f"{resolve_path(f'{URL}?as&tolerence=1')}?as=json"
