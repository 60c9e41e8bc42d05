"""Preferences of a client: the values, and how a request states them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timegate.resolution.model import Preferences
from timegate.resolution.preferences import (
    PARAMETERS,
    BadPreference,
    duration,
    parameters_of,
    preferences_from,
)


def test_without_any_preference_the_defaults_apply() -> None:
    assert preferences_from({}, None, None) == (Preferences(), ())


def test_every_preference_can_be_a_query_parameter() -> None:
    parameters = {
        "archives": "arquivo-pt, internet-archive",
        "exclude": "loc",
        "precision": "day",
        "tolerance": "P3DT5H",
        "direction": "before",
        "wait": "2.5",
        "verify": "head",
        "as": "json",
    }

    preferences, applied = preferences_from(parameters, None, None)

    assert preferences == Preferences(
        archives=frozenset({"arquivo-pt", "internet-archive"}),
        exclude=frozenset({"loc"}),
        precision="day",
        tolerance=timedelta(days=3, hours=5),
        direction="before",
        wait=2.5,
        verify="head",
    )
    assert applied == ()


def test_every_preference_can_be_in_the_prefer_header_and_is_reported_as_applied() -> None:
    prefer = (
        'archives="arquivo-pt,loc", precision=exact; note=x, respond-async, '
        'tolerance=24h , direction = "after", wait=10, verify=head, exclude=ukwa'
    )

    preferences, applied = preferences_from({}, prefer, None)

    assert preferences == Preferences(
        archives=frozenset({"arquivo-pt", "loc"}),
        exclude=frozenset({"ukwa"}),
        precision="exact",
        tolerance=timedelta(days=1),
        direction="after",
        wait=10.0,
        verify="head",
    )
    assert applied == (
        'archives="arquivo-pt,loc"',
        "precision=exact",
        "tolerance=24h",
        "direction=after",
        "wait=10",
        "verify=head",
        "exclude=ukwa",
    )


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("archives", "", "ids of archives"),
        ("archives", "a,,b", "ids of archives"),
        ("archives", "a b", "ids of archives"),
        ("archives", ",".join(["a"] * 101), "at most 100"),
        ("exclude", "é", "ids of archives"),
        ("precision", "Exact", "exact or archive or day or any"),
        ("precision", "", "exact or archive or day or any"),
        ("tolerance", "3", "P3DT5H"),
        ("tolerance", "P", "P3DT5H"),
        ("tolerance", "P1DT", "P3DT5H"),
        ("tolerance", "-1d", "P3DT5H"),
        ("tolerance", "٣d", "P3DT5H"),
        ("tolerance", "9999999d", "P3DT5H"),
        ("direction", "forward", "closest or before or after"),
        ("wait", "0", "at most 30"),
        ("wait", "0.0", "at most 30"),
        ("wait", "31", "at most 30"),
        ("wait", "inf", "at most 30"),
        ("wait", "-1", "at most 30"),
        ("wait", "1e9", "at most 30"),
        ("verify", "get", "none or head"),
    ],
)
def test_a_bad_parameter_is_rejected_and_a_bad_prefer_header_ignored(
    name: str, text: str, allowed: str
) -> None:
    with pytest.raises(BadPreference, match=f"{name} must be .*{allowed}") as refusal:
        preferences_from({name: text}, None, None)
    wished = preferences_from({}, f'{name}="{text}"', None)

    assert refusal.value.name == name
    assert wished == (Preferences(), ())


def test_a_parameter_outranks_the_prefer_header() -> None:
    preferences, applied = preferences_from(
        {"precision": "day"}, "precision=exact, wait=3", None
    )

    assert preferences.precision == "day"
    assert applied == ("wait=3",)


def test_of_a_repeated_preference_the_first_counts() -> None:
    preferences, applied = preferences_from({}, "wait=3, WAIT=4", None)

    assert preferences.wait == 3.0
    assert applied == ("wait=3",)


@pytest.mark.parametrize(
    ("cache_control", "no_cache", "only_if_cached"),
    [
        ("no-cache", True, False),
        ("max-age=0, No-Cache", True, False),
        ("only-if-cached", False, True),
        ('x="no-cache, only-if-cached"', False, False),
        ("no-cachet", False, False),
        ("", False, False),
    ],
)
def test_cache_control_is_read(
    cache_control: str,
    no_cache: bool,  # noqa: FBT001 -- a column of the table
    only_if_cached: bool,  # noqa: FBT001
) -> None:
    preferences, _ = preferences_from({}, None, cache_control)

    assert preferences.no_cache == no_cache
    assert preferences.only_if_cached == only_if_cached


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("90m", 5400),
        ("24h", 86_400),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("0s", 0),
        ("PT0S", 0),
        ("P1Y", 31_536_000),
        ("P1M", 2_592_000),
        ("PT1M", 60),
        ("P1W", 604_800),
        ("P1Y2M3W4DT5H6M7S", 31_536_000 + 5_184_000 + 1_814_400 + 345_600 + 18_367),
        ("p1d", None),
        ("1 d", None),
        ("P1.5D", None),
        ("24h\n", None),
    ],
)
def test_a_duration_is_read_in_two_notations(text: str, seconds: int | None) -> None:
    assert duration(text) == (None if seconds is None else timedelta(seconds=seconds))


@given(st.text(), st.text())
def test_no_header_is_an_error(prefer: str, cache_control: str) -> None:
    _, applied = preferences_from({}, prefer, cache_control)

    assert all(preference.isascii() and preference.isprintable() for preference in applied)


@given(st.sampled_from(["archives", "precision", "tolerance", "wait"]), st.text())
def test_a_parameter_is_applied_or_rejected(name: str, text: str) -> None:
    try:
        preferences, _ = preferences_from({name: text}, None, None)
    except BadPreference as refusal:
        assert str(refusal).isascii()
    else:
        assert preferences != Preferences() or text == "any"


_ids = st.frozensets(st.sampled_from(["loc", "arquivo-pt", "a.b~c", "any", "none"]), min_size=1)
_any_preferences = st.builds(
    Preferences,
    archives=st.none() | _ids,
    exclude=st.just(frozenset[str]()) | _ids,
    precision=st.sampled_from(["exact", "archive", "day", "any"]),
    tolerance=st.none()
    | st.timedeltas(timedelta(0), timedelta(days=10**6)).map(
        lambda some: timedelta(some.days, some.seconds)
    ),
    direction=st.sampled_from(["closest", "before", "after"]),
    wait=st.none() | st.integers(1, 30_000).map(lambda n: n / 1000),
    verify=st.sampled_from(["none", "head"]),
)


@given(_any_preferences)
def test_parameters_state_the_preferences_they_were_made_from(preferences: Preferences) -> None:
    parameters = parameters_of(preferences)

    assert preferences_from(parameters, None, None) == (preferences, ())
    assert parameters.keys() <= {parameter.name for parameter in PARAMETERS}


def test_equivalent_urls_are_read_as_archives_are_asked_for_them() -> None:
    text = "http://a.example/#top  example.org/x http://user:pw@b.example/ http://a.example/"

    preferences, _ = preferences_from({"also": text}, None, None)

    assert preferences.also == (
        "http://a.example/",
        "http://example.org/x",
        "http://b.example/",
    )
    assert preferences_from({}, f'also="{text}"', None)[0] == preferences


SIX = " ".join(f"http://{number}.example/" for number in range(6))


@pytest.mark.parametrize(
    "text",
    ["", " ", "ftp://a.example/", "http://", "urn:x:y", "http://a.example/%zz", SIX],
)
def test_a_bad_equivalent_url_or_too_many_are_rejected(text: str) -> None:
    with pytest.raises(BadPreference, match="also must be http or https URLs, at most 5"):
        preferences_from({"also": text}, None, None)
