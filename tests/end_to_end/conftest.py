"""One real pywb for each of its three modes, started once in a run and only if needed."""

from collections.abc import Iterator

import pytest

from tests.end_to_end.pywb import Pywb, running_pywb


@pytest.fixture(scope="session")
def framed_pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    """Pywb as it comes out of the box: replay inside a frame."""
    with running_pywb("framed", tmp_path_factory.mktemp("framed")) as pywb:
        yield pywb


@pytest.fixture(scope="session")
def plain_pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    """Pywb whose TimeGate answers 200 with Content-Location (RFC 7089 pattern 2.2)."""
    with running_pywb("plain", tmp_path_factory.mktemp("plain")) as pywb:
        yield pywb


@pytest.fixture(scope="session")
def exact_pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    """Pywb whose TimeGate redirects with 307 (RFC 7089 pattern 2.1 with another status)."""
    with running_pywb("exact", tmp_path_factory.mktemp("exact")) as pywb:
        yield pywb
