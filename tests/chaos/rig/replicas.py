"""Two replicas with a shared Redis, behind HAProxy with the configuration of deploy/."""

import shutil
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.rig.asking import Client
from tests.chaos.rig.timegates import TimeGate, free_port, timegate
from tests.chaos.scenario import CannotRun
from tests.deploy.proxies import running as running_proxy
from tests.end_to_end.redis_servers import PROGRAM, RedisServer, cluster_url, redis_cluster

# HAProxy sends at most 256 concurrent requests to each replica; the others wait in it.
_ENVIRONMENT = {"TIMEGATE_LIMITS_TRUSTED_PROXIES": "127.0.0.1/32"}


@dataclass
class Replicas:
    """Controls the replicas."""

    folder: Path
    config: str
    port: int
    """The TLS port of HAProxy."""
    tls: ssl.SSLContext
    ports: list[int]
    nodes: list[RedisServer]
    running: list[ExitStack] = field(default_factory=list)
    servers: list[TimeGate] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return Client(self.port, tls=self.tls)

    def start(self, number: int) -> None:
        """Start or restart one replica."""
        stack = ExitStack()
        served = timegate(
            self.folder,
            self.config,
            port=self.ports[number],
            name=f"replica{number}",
            environment=_ENVIRONMENT,
        )
        server = stack.enter_context(served)
        if number < len(self.servers):
            self.servers[number], self.running[number] = server, stack
        else:
            self.servers.append(server)
            self.running.append(stack)


@contextmanager
def replicas(folder: Path, config: str) -> Iterator[Replicas]:
    """Run HAProxy, two replicas and three Redis masters."""
    if PROGRAM is None:
        raise CannotRun("no redis-server (apt: redis-server)")
    if shutil.which("haproxy") is None and not Path("/usr/sbin/haproxy").exists():
        raise CannotRun("no haproxy (apt: haproxy)")
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        nodes = stack.enter_context(
            redis_cluster(folder / "redis", "--cluster-require-full-coverage", "no")
        )
        proxy = stack.enter_context(running_proxy("haproxy", folder / "haproxy", *ports))
        shared = f'[cache]\nurl = "{cluster_url(nodes)}"\nreplicas = 2\n'
        assert proxy.tls.tls is not None
        started = Replicas(folder, shared + config, proxy.tls.port, proxy.tls.tls, ports, nodes)
        for number in range(2):
            started.start(number)
        try:
            yield started
        finally:
            for each in started.running:
                each.close()
