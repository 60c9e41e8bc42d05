from datetime import datetime

from hypothesis import given
from hypothesis import strategies as st

from archives.model import Closest, Memento, Relation
from archives.moment import Moment
from archives.nearest import candidates, nearest_candidate

# Few enough seconds that captures often share one, or lie at the same distance.
seconds = st.integers(0, 59).map(lambda n: f"201601221120{n:02}")
stamps = seconds | st.tuples(seconds, st.sampled_from(["1", "25"])).map("".join)
mementos = stamps.map(lambda stamp: Memento(stamp, f"http://a/{stamp}/x", "x", "a"))
_relations: st.SearchStrategy[Relation] = st.sampled_from(["first", "prev", "next", "last"])


@given(
    st.builds(
        Closest,
        mementos,
        st.just("timegate"),
        neighbours=st.dictionaries(_relations, mementos, max_size=4),
    ),
    seconds,
)
def test_the_nearest_candidate_is_the_first_of_all_in_order(
    closest: Closest, second: str
) -> None:
    at = Moment(second)
    first = candidates(closest, at)[0]

    found = nearest_candidate(closest, at)

    assert _distance(found, at) == _distance(first, at)
    assert closest.memento.stamp[:14] != first.stamp[:14] or found == closest.memento


def _distance(memento: Memento, at: Moment) -> float:
    captured = datetime.strptime(memento.stamp[:14], "%Y%m%d%H%M%S")  # noqa: DTZ007
    return abs((captured - at.negotiated.replace(tzinfo=None)).total_seconds())
