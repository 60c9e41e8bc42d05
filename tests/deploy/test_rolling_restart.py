"""Two replicas behind a proxy are replaced one after the other without a failed request."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.deploy.proxies import PROXIES, free_port, running
from tests.deploy.raw import Place, ask
from tests.end_to_end.server import running_demo

TARGET = "/timegate/http://harbour.example/"
CLIENTS = 4


@contextmanager
def clients(place: Place) -> Iterator[list[int]]:
    """Send requests until the block ends; the list collects the responses."""
    answers: list[int] = []
    ended = threading.Event()

    def client() -> None:
        while not ended.is_set():
            answer = ask(place, TARGET, {"Prefer": 'exclude="lantern"'})
            answers.append(answer.status if answer.whole else -1)

    threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield answers
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def answered(place: Place, answers: list[int], more: int) -> None:
    """Wait for so many more responses, and for one of the replica at *place*."""
    enough = len(answers) + more
    while len(answers) < enough:
        ask(place, "/healthz")


@pytest.mark.parametrize("name", PROXIES)
def test_replacing_one_replica_after_the_other_fails_no_request(
    name: str, tmp_path: Path
) -> None:
    ports = free_port(), free_port()
    replicas = [ExitStack(), ExitStack()]
    with replicas[0], replicas[1]:
        for replica, port in zip(replicas, ports, strict=True):
            replica.enter_context(running_demo("--port", str(port)))
        with (
            running(name, tmp_path, *ports) as proxy,
            clients(proxy.tls) as answers,
        ):
            for replica, port in zip(replicas, ports, strict=True):
                answered(Place(port), answers, 50)
                replica.close()
                replica.enter_context(running_demo("--port", str(port)))
                answered(Place(port), answers, 50)

    assert len(answers) > 200
    assert set(answers) == {404}
