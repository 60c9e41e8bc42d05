"""Real Redis servers on loopback: one, one with Sentinels, a Cluster; each ended by its pid.

``REDIS_SERVER`` in the environment names another program that speaks so (valkey-server).
"""

import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = shutil.which(os.environ.get("REDIS_SERVER", "redis-server"))
needs_redis = pytest.mark.skipif(PROGRAM is None, reason="redis-server is not installed")


@dataclass
class RedisServer:
    """One server, which can be stopped, killed and started again on the same port."""

    folder: Path
    port: int
    options: Sequence[str] = ()
    sentinel: bool = False
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.folder.mkdir(exist_ok=True)
        assert PROGRAM is not None
        where = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self.folder)]
        quiet = ["--loglevel", "warning", "--logfile", str(self.folder / "log")]
        keeping = [] if self.sentinel else ["--save", "", "--appendonly", "no"]
        command = [PROGRAM, *self._file(), *where, *quiet, *keeping, *self.options]
        if self.sentinel:
            command.append("--sentinel")
        self.process = subprocess.Popen(command)  # noqa: S603 -- Debian's own program
        self._wait()

    def _file(self) -> list[str]:
        if not self.sentinel:
            return []
        file = self.folder / "sentinel.conf"
        file.touch()
        return [str(file)]

    def _wait(self) -> None:
        until = time.monotonic() + 10
        while True:
            try:
                answer = self.say("PING")
            except OSError:
                answer = ""
            if answer.startswith(("+PONG", "-NOAUTH")):
                return
            if time.monotonic() > until:
                raise TimeoutError(f"no answer at port {self.port}")
            time.sleep(0.01)

    def say(self, *words: str, password: str | None = None) -> str:
        """Send one command and return the beginning of the raw answer."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as talk:
            if password is not None:
                talk.sendall(_command("AUTH", password))
                talk.recv(100)
            talk.sendall(_command(*words))
            return talk.recv(65536).decode(errors="replace")

    def number(self, *words: str) -> int:
        """Send a command that is answered with a number."""
        return int(self.say(*words).removeprefix(":"))

    def commands(self) -> int:
        """Return how many commands it has run so far."""
        return self._told("total_commands_processed")

    def calls(self, command: str) -> int:
        """Return how many times it has run *command* so far."""
        info = self.say("INFO", "commandstats")
        found = info.partition(f"cmdstat_{command}:calls=")[2]
        return int(found.partition(",")[0] or "0")

    def connections(self) -> int:
        """Return how many connections it has accepted so far, those of `say` as well."""
        return self._told("total_connections_received")

    def _told(self, name: str) -> int:
        info = self.say("INFO", "stats")
        return int(info.partition(f"{name}:")[2].split()[0])

    def pause(self) -> None:
        """Stop it: it accepts connections and sends nothing."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        if self.process is not None:
            self._signal(signal.SIGCONT)
            self._signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, number)


def _command(*words: str) -> bytes:
    spelled = [word.encode() for word in words]
    parts = [b"$%d\r\n%s\r\n" % (len(word), word) for word in spelled]
    return b"*%d\r\n%s" % (len(words), b"".join(parts))


def free_port() -> int:
    """Return a free port whose Cluster bus port, 10,000 above, is free as well.

    Both are below the ports that the kernel gives to connections, which come and go.
    """
    while True:
        port = random.randrange(11_000, 21_000)  # noqa: S311 -- not a secret
        if _is_free(port) and _is_free(port + 10_000):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextmanager
def redis_server(folder: Path, *options: str, sentinel: bool = False) -> Iterator[RedisServer]:
    """Run one server."""
    server = RedisServer(folder, free_port(), options, sentinel)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def redis_cluster(folder: Path, *options: str) -> Iterator[list[RedisServer]]:
    """Run three masters that share the 16,384 slots."""
    with ExitStack() as stack:
        nodes = []
        for number in range(3):
            place = folder / str(number)
            settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *options)
            nodes.append(stack.enter_context(redis_server(place, *settings)))
        for number, node in enumerate(nodes):
            slots = range(number * 16384 // 3, (number + 1) * 16384 // 3)
            node.say("CLUSTER", "ADDSLOTSRANGE", str(slots[0]), str(slots[-1]))
            node.say("CLUSTER", "SET-CONFIG-EPOCH", str(number + 1))
            node.say("CLUSTER", "MEET", "127.0.0.1", str(nodes[0].port))
        _wait_until_joined(nodes)
        yield nodes


def _wait_until_joined(nodes: list[RedisServer]) -> None:
    until = time.monotonic() + 20
    while not all("cluster_state:ok" in node.say("CLUSTER", "INFO") for node in nodes):
        if time.monotonic() > until:
            raise TimeoutError("the Cluster did not come together")
        time.sleep(0.05)


def cluster_url(nodes: list[RedisServer]) -> str:
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)


@dataclass
class RedisPair:
    """A server, its replica, and the Sentinel that promotes the replica."""

    first: RedisServer
    second: RedisServer
    sentinel: RedisServer

    @property
    def url(self) -> str:
        return f"redis+sentinel://127.0.0.1:{self.sentinel.port}/main"


@contextmanager
def redis_pair(folder: Path, *options: str) -> Iterator[RedisPair]:
    """Run a server with a replica, which is promoted 0.3 s after the server has died."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        first = stack.enter_context(redis_server(folder / "first", *options))
        of = ("--replicaof", f"127.0.0.1 {first.port}")
        second = stack.enter_context(redis_server(folder / "second", *of, *options))
        sentinel = stack.enter_context(redis_server(folder / "sentinel", sentinel=True))
        sentinel.say("SENTINEL", "MONITOR", "main", "127.0.0.1", str(first.port), "1")
        for name, value in (("down-after-milliseconds", "300"), ("failover-timeout", "2000")):
            sentinel.say("SENTINEL", "SET", "main", name, value)
        until = time.monotonic() + 30
        while str(second.port) not in sentinel.say("SENTINEL", "REPLICAS", "main"):
            if time.monotonic() > until:
                raise TimeoutError("the Sentinel does not know the replica")
            time.sleep(0.1)
        yield RedisPair(first, second, sentinel)
