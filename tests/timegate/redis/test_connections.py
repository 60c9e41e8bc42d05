"""A Redis Cluster without a live node is left alone like any server, and used again."""

import asyncio
from pathlib import Path

from tests.end_to_end.redis_servers import cluster_url, free_port, redis_cluster
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient


async def test_a_cluster_without_a_live_node_does_not_prevent_the_start() -> None:
    address = parse_address(f"redis+cluster://127.0.0.1:{free_port()}")

    async with RedisClient(address) as client:
        trouble = client.trouble

    assert trouble is not None


async def test_a_cluster_that_is_back_is_used_again(tmp_path: Path) -> None:
    with redis_cluster(tmp_path) as nodes:
        address = parse_address(cluster_url(nodes))
        for node in nodes:
            node.kill()
        async with RedisClient(address, bound=5.0) as client:
            assert client.trouble is not None
            for node in nodes:
                node.start()
            async with asyncio.timeout(30):
                while client.trouble is not None:  # noqa: ASYNC110 -- no event for it
                    await asyncio.sleep(0.05)

                assert await client.read("a", "EXISTS", "a") == 0
