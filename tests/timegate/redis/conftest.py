from collections.abc import AsyncIterator, Iterator

import pytest

from tests.end_to_end.redis_servers import RedisServer, redis_server
from timegate.redis.address import parse_address
from timegate.redis.client import RedisClient


@pytest.fixture(scope="session")
def running_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def redis(running_redis: RedisServer) -> RedisServer:
    """A server that is empty."""
    running_redis.say("FLUSHALL")
    return running_redis


@pytest.fixture
async def client(redis: RedisServer) -> AsyncIterator[RedisClient]:
    async with RedisClient(parse_address(redis.url), bound=5.0) as client:
        yield client
