from hypothesis import given
from hypothesis import strategies as st

from timegate.cache.encoding import sealed, unsealed


@given(st.binary(max_size=100))
def test_a_sealed_value_is_opened_unchanged(payload: bytes) -> None:
    assert unsealed(sealed(payload)) == payload
