import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from timegate.cache import MemoryStore

LIMIT = 100_000

steps = st.lists(
    st.tuples(
        st.sampled_from(["put", "get", "delete"]), st.integers(0, 60), st.integers(0, 20_000)
    ),
    max_size=150,
)


@given(steps)
async def test_the_size_never_exceeds_the_limit(
    steps: list[tuple[str, int, int]],
) -> None:
    store = MemoryStore(limit=LIMIT)

    for action, number, length in steps:
        match action:
            case "put":
                await store.put(f"key {number}", bytes(length), 60, 60)
            case "get":
                store.get_now(f"key {number}")
            case _:
                await store.delete(f"key {number}")

        assert 0 <= store.size <= LIMIT

    for number in range(61):
        await store.delete(f"key {number}")
    assert (store.size, len(store)) == (0, 0)


async def test_the_memory_in_use_is_not_above_the_limit() -> None:
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    store = MemoryStore(limit=4 << 20)
    for number in range(20_000):
        await store.put(f"{number:032x}/1/20140101/public/example", bytes(200), 60, 60)
        store.get_now(f"{number // 2:032x}/1/20140101/public/example")
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(store) > 1000
    assert after - before < 1.1 * (4 << 20)


async def test_repeatedly_used_keys_survive_many_keys_that_are_used_once() -> None:
    store = MemoryStore(limit=1 << 20)
    hot = [f"hot {number}" for number in range(100)]
    for key in hot:
        await store.put(key, b"value", 60, 60)
        store.get_now(key)

    for number in range(50_000):
        await store.put(f"cold {number}", bytes(100), 60, 60)

    assert all(store.get_now(key) for key in hot)


async def test_a_key_that_returns_after_its_eviction_stays() -> None:
    """Seen once a minute, since answers are ready elsewhere for so long."""
    store = MemoryStore(limit=100_000)
    for number in range(2):
        await store.put("hot", bytes(100), 3600, 3600)
        for other in range(1000):
            await store.put(f"{number} {other}", bytes(1000), 3600, 3600)

        assert (await store.get("hot") is not None) == bool(number)


async def test_a_refreshed_key_keeps_its_rank() -> None:
    store = MemoryStore(limit=100_000)
    await store.put("hot", b"old", 60, 60)
    store.get_now("hot")
    await store.put("hot", b"new", 60, 60)

    for number in range(1_000):
        await store.put(f"cold {number}", bytes(100), 60, 60)

    stored = store.get_now("hot")
    assert stored is not None
    assert stored.value == b"new"


async def test_of_repeatedly_used_keys_the_least_recent_is_evicted_first() -> None:
    store = MemoryStore(limit=10_000)
    for key in ("first", "second"):
        await store.put(key, bytes(1), 60, 60)
        store.get_now(key)
    store.get_now("first")

    for number in range(30):
        await store.put(f"more {number}", bytes(1), 60, 60)
        store.get_now(f"more {number}")
        store.get_now("first")

    assert store.get_now("first") is not None
    assert store.get_now("second") is None


async def test_a_value_that_is_too_large_is_not_stored_and_removes_the_earlier_one() -> None:
    store = MemoryStore(limit=LIMIT)
    await store.put("key", b"small", 60, 60)

    await store.put("key", bytes(LIMIT // 4), 60, 60)

    assert store.get_now("key") is None
    assert store.size == 0


async def test_a_closed_store_is_empty() -> None:
    store = MemoryStore()
    await store.put("key", b"value", 60, 60)

    await store.close()

    assert store.get_now("key") is None
    assert store.size == 0
