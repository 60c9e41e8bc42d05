"""Which faults a request meets: selected by itself, by the archive, or by chance."""

import re

import pytest

from timegate.misbehave import FAULTS, Archive, ArchiveOptions
from timegate.misbehave.answers import FAULT_HEADER
from timegate.misbehave.archive import RequestObserver
from timegate.misbehave.faults import Chance, fault_named, faults_named, is_per_request
from timegate.misbehave.wire import WholeAnswer, WireRequest

PAGE = "http://example.org/"
TIMEGATE = f"/timegate/{PAGE}"
SMALL = ArchiveOptions(delay=0.0, interval=0.001, bulk=20_000, bomb=100_000)


def an_archive(fault: str = "none", on_request: RequestObserver | None = None) -> Archive:
    archive = Archive(fault=fault, options=SMALL)
    archive.url = "http://127.0.0.1:1"
    archive.on_request = on_request
    return archive


def reply(archive: Archive, target: str = TIMEGATE, prefer: str = "") -> WholeAnswer:
    headers = (("prefer", prefer),) if prefer else ()
    answer = archive.reply(WireRequest("GET", target, headers))
    assert isinstance(answer, WholeAnswer)
    return answer


@pytest.mark.parametrize(
    "prefer",
    [
        "misbehave=redirect-307",
        'misbehave="redirect-307"',
        "respond-async, Misbehave = redirect-307; foo",
        "wait=5,misbehave=redirect-307",
    ],
)
def test_a_preference_selects_a_fault(prefer: str) -> None:
    answer = reply(an_archive(), prefer=prefer)

    assert answer.status == 307


def test_a_prefix_selects_a_fault_and_all_links_keep_it() -> None:
    answer = reply(an_archive(), f"/~redirect-307{TIMEGATE}")

    assert answer.status == 307
    base = "http://127.0.0.1:1/~redirect-307"
    assert answer.value("Location") == f"{base}/web/20200202020202/{PAGE}"
    assert f"<{base}/timemap/link/{PAGE}>" in (answer.value("Link") or "")


def test_a_selected_fault_replaces_those_of_the_archive() -> None:
    answer = reply(an_archive("vary-missing"), f"/~redirect-307{TIMEGATE}")

    assert answer.status == 307
    assert answer.value("Vary") is not None


@pytest.mark.parametrize("target", [f"/~none{TIMEGATE}", TIMEGATE])
def test_without_a_fault_the_answer_is_correct(target: str) -> None:
    answer = reply(an_archive(), target)

    assert answer.status == 302
    assert answer.value("Vary") == "accept-datetime"


@pytest.mark.parametrize(
    ("name", "why"),
    [("loop", "no fault 'loop'"), ("tls-expired", "start the archive with it")],
)
def test_an_impossible_selection_is_rejected_with_the_reason(name: str, why: str) -> None:
    for answer in (
        reply(an_archive(), f"/~{name}{TIMEGATE}"),
        reply(an_archive(), prefer=f"misbehave={name}"),
    ):
        assert answer.status == 400
        assert why in answer.body.decode()


def test_several_faults_change_one_answer() -> None:
    answer = reply(an_archive("vary-missing+datetime-on-redirect+redirect-307"))

    assert answer.status == 307
    assert answer.value("Vary") is None
    assert answer.value("Memento-Datetime") is not None


def test_no_cors_holds_together_with_other_faults() -> None:
    answer = reply(an_archive("no-cors+vary-missing"))

    assert answer.value("Access-Control-Allow-Origin") is None


@pytest.mark.parametrize("first", sorted(FAULTS))
def test_every_fault_can_be_combined_with_others(first: str) -> None:
    archive = an_archive(f"{first}+vary-missing+claims-everything+raw-another+stamp-differs")

    for target in (TIMEGATE, f"/timemap/link/{PAGE}", f"/web/2013id_/{PAGE}", "/cdx?url=x"):
        archive.reply(WireRequest("GET", target, ()))


def test_an_observer_gets_the_faults_and_answers_name_them() -> None:
    observed: list[tuple[str, tuple[str, ...]]] = []
    archive = an_archive(
        "vary-missing+list-plain",
        lambda request, names: observed.append((request.target, names)),
    )

    answers = [reply(archive, target) for target in (TIMEGATE, f"/timemap/link/{PAGE}", "/x")]

    assert [names for _, names in observed] == [("vary-missing",), ("list-plain",), ()]
    assert [each.value(FAULT_HEADER) for each in answers] == [
        "vary-missing",
        "list-plain",
        None,
    ]


@pytest.mark.parametrize("fault", ["bot-challenge", "no-cors", "redirect-307"])
def test_replaced_answers_name_their_fault_too(fault: str) -> None:
    answer = reply(an_archive(fault, lambda _, __: None))

    assert answer.value(FAULT_HEADER) == fault


def test_without_an_observer_answers_name_no_fault() -> None:
    assert reply(an_archive("vary-missing")).value(FAULT_HEADER) is None


def drawn(chance: Chance, number: int = 500) -> list[str]:
    return [",".join(fault.name for fault in chance.draw()) for _ in range(number)]


def test_chance_draws_the_same_for_the_same_seed() -> None:
    assert drawn(Chance(0.3, 7)) == drawn(Chance(0.3, 7))
    assert drawn(Chance(0.3, 7)) != drawn(Chance(0.3, 8))


def test_another_share_changes_the_frequency_but_not_the_faults() -> None:
    seldom, often = drawn(Chance(0.2, 7)), drawn(Chance(0.8, 7))

    assert all(one in ("", other) for one, other in zip(seldom, often, strict=True))
    assert seldom.count("") > often.count("")


@pytest.mark.parametrize(("share", "hits"), [(0.0, 0), (1.0, 500)])
def test_a_share_of_0_means_never_and_of_1_always(share: float, hits: int) -> None:
    assert sum(name != "" for name in drawn(Chance(share, 1))) == hits


def test_chance_draws_all_faults_of_single_requests() -> None:
    seen = set(drawn(Chance(1.0, 1), 5000))

    playable = {name for name, fault in FAULTS.items() if is_per_request(fault)}
    assert seen == playable - {"none"}


def test_chance_draws_only_from_the_given_faults() -> None:
    given = faults_named("tls-right+vary-missing+loop-self")

    assert set(drawn(Chance(1.0, 1, given))) == {"vary-missing", "loop-self"}


def test_an_archive_with_chance_has_faults_sometimes() -> None:
    archive = an_archive()
    archive.chance = Chance(0.5, 1, faults_named("redirect-307"))

    statuses = [reply(archive).status for _ in range(100)]

    assert set(statuses) == {302, 307}


def test_an_unknown_fault_is_rejected_with_the_names_of_all() -> None:
    with pytest.raises(ValueError, match=r"no fault 'loop'; there are .*loop-self"):
        fault_named("loop")


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_every_fault_has_a_name_and_a_sentence(fault: object) -> None:
    assert isinstance(fault, type(FAULTS["none"]))
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fault.name)
    assert fault.sentence.endswith(".")
