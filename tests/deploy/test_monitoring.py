"""Alert rules and dashboard use existing metrics, labels and outcomes."""

import json
import re
import subprocess

import pytest

from archives.errors import ArchiveError
from tests.deploy.programs import installed
from tests.deploy.proxies import ROOT
from tests.deploy.raw import Place, ask
from tests.end_to_end.server import running_demo

MONITORING = ROOT / "deploy" / "monitoring"
METRIC = re.compile(r"\btimegate_[a-z_]+")
OUTCOME = re.compile(r'outcome(?:=~?|!~|!=)"([a-z|]+)"')


def dashboard() -> list[str]:
    board = json.loads((MONITORING / "grafana.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return asked + [one["query"] for one in board["templating"]["list"]]


def everything() -> str:
    return "\n".join([(MONITORING / "rules.yaml").read_text(), *dashboard()])


def test_every_metric_in_use_exists() -> None:
    with running_demo() as server:
        place = Place(int(server.url.rpartition(":")[2]))
        ask(place, "/timegate/http://nobody.example/", {"Prefer": 'exclude="lantern"'})

        published = ask(place, "/metrics").body.decode()

    asked = set(METRIC.findall(everything()))
    assert asked
    assert asked <= set(METRIC.findall(published))


def test_every_outcome_in_use_exists() -> None:
    kinds = {kind.__name__.lower() for kind in ArchiveError.__subclasses__()}
    asked = {one for found in OUTCOME.findall(everything()) for one in found.split("|")}

    assert asked <= kinds | {"found", "absent"}
    assert kinds <= asked


def test_panels_do_not_overlap() -> None:
    panels = json.loads((MONITORING / "grafana.json").read_text())["panels"]

    assert len({(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels}) == len(panels)
    assert len({one["id"] for one in panels}) == len(panels)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "rules", "rules.yaml"),
        ("check", "config", "prometheus.yaml"),
        ("test", "rules", "rules.test.yaml"),
    ],
    ids=" ".join,
)
def test_promtool_accepts_rules_and_configuration(arguments: tuple[str, ...]) -> None:
    command = [installed("promtool", "prometheus"), *arguments]

    ended = subprocess.run(command, cwd=MONITORING, capture_output=True, text=True, check=False)  # noqa: S603 -- Debian's own

    assert ended.returncode == 0, ended.stdout + ended.stderr
