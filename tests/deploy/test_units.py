"""Service unit, containers and manifests: valid for their tools, consistent with the code."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.programs import installed
from tests.deploy.proxies import ROOT
from timegate.config import load_config

DEPLOY = ROOT / "deploy"
MANIFESTS = DEPLOY / "kubernetes" / "timegate.yaml"
CONTAINERFILE = (DEPLOY / "container" / "Containerfile").read_text()

yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")


def manifest(kind: str) -> dict[str, Any]:
    found = [one for one in yaml.safe_load_all(MANIFESTS.read_text()) if one["kind"] == kind]
    assert len(found) == 1
    return dict(found[0])


def container() -> dict[str, Any]:
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    return dict(pod["containers"][0])


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    program = installed("systemd-analyze", "systemd")
    unit = (DEPLOY / "systemd" / "timegate.service").read_text()
    file = tmp_path / "timegate.service"
    # It looks whether the command can be run.
    file.write_text(unit.replace("/opt/timegate/bin/timegate", sys.executable))

    ended = subprocess.run([program, "verify", str(file)], capture_output=True, text=True)  # noqa: S603, PLW1510 -- Debian's own

    assert (ended.returncode, ended.stderr) == (0, "")


def test_systemd_does_not_restart_with_a_wrong_configuration(tmp_path: Path) -> None:
    unit = (DEPLOY / "systemd" / "timegate.service").read_text()
    file = tmp_path / "timegate.toml"
    file.write_text("contakt = 1\n")

    command = [sys.executable, "-m", "timegate", "serve", "--config", str(file)]
    ended = subprocess.run(command, capture_output=True, check=False, timeout=60)  # noqa: S603 -- ourselves

    assert f"\nRestartPreventExitStatus={ended.returncode}\n" in unit


def test_compose_accepts_the_file(tmp_path: Path) -> None:
    program = installed("docker-compose", "docker-compose")
    written = (DEPLOY / "compose.yaml").read_text()
    # Debian 12 has version 1.29, which lacks one key of today's specification.
    (tmp_path / "compose.yaml").write_text(written.replace("name: timegate\n", "", 1))

    command = [program, "-f", str(tmp_path / "compose.yaml"), "config", "--quiet"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- Debian's own

    assert ended.returncode == 0, ended.stderr


def test_files_that_compose_mounts_exist() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())

    assert all((DEPLOY / one["file"]).exists() for one in compose["configs"].values())
    build = compose["services"]["one"]["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).exists()


def test_the_proxy_of_compose_differs_only_in_its_servers() -> None:
    usual = (DEPLOY / "proxies" / "haproxy.cfg").read_text().splitlines()
    ours = (DEPLOY / "proxies" / "haproxy.compose.cfg").read_text().splitlines()

    gone = [line.split()[0] for line in usual[1:] if line not in ours]
    new = [line.split()[0] for line in ours[1:] if line.strip() and line not in usual]
    assert gone == ["default-server", "server", "#"]
    resolvers = ["resolvers", "#", "parse-resolv-conf", "#", "hold"]
    assert new == [*resolvers, "default-server", "server", "server"]


def test_the_container_runs_as_a_numeric_user_that_is_not_root() -> None:
    assert "\nUSER 65532:65532\n" in CONTAINERFILE
    pod = manifest("Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsUser"] == 65532


def test_everything_installed_in_the_container_has_a_hash() -> None:
    installs = [
        part.partition("\n\n")[0]
        for part in CONTAINERFILE.replace("\\\n", " ").split("pip install")[1:]
    ]

    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "--no-index" in installs[1]


def test_files_that_the_build_copies_exist() -> None:
    copied = [
        word
        for line in CONTAINERFILE.splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    let_in = (DEPLOY / "container" / "Containerfile.dockerignore").read_text().splitlines()

    assert all((ROOT / name).exists() for name in copied)
    assert {f"!{name}" for name in copied} <= set(let_in)


def test_the_configuration_of_the_manifests_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "timegate.toml"
    file.write_text(manifest("ConfigMap")["data"]["timegate.toml"])

    config = load_config(file)

    assert config.listen.host == "0.0.0.0"  # noqa: S104 -- inside of a container
    assert container()["ports"][0]["containerPort"] == config.listen.port


def test_probes_request_existing_endpoints() -> None:
    probes = {
        name: container()[f"{name}Probe"]["httpGet"] for name in ("liveness", "readiness")
    }

    assert probes["liveness"] == {"path": "/healthz", "port": "http"}
    assert probes["readiness"] == {"path": "/readyz", "port": "http"}


def test_a_pod_has_time_to_drain() -> None:
    pod = manifest("Deployment")["spec"]["template"]["spec"]

    assert pod["terminationGracePeriodSeconds"] >= 5 + 10
    assert "sleep(5)" in container()["lifecycle"]["preStop"]["exec"]["command"][-1]


def test_a_pod_has_a_read_only_file_system_and_no_privileges() -> None:
    context = container()["securityContext"]

    assert context["readOnlyRootFilesystem"]
    assert not context["allowPrivilegeEscalation"]
    assert context["capabilities"] == {"drop": ["ALL"]}


def test_selectors_find_the_pods() -> None:
    labels = manifest("Deployment")["spec"]["template"]["metadata"]["labels"]

    assert manifest("Service")["spec"]["selector"].items() <= labels.items()
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert manifest(kind)["spec"]["selector"]["matchLabels"].items() <= labels.items()
    preferences = manifest("NetworkPolicy")["spec"]["podSelector"]["matchLabels"]
    assert preferences.items() <= labels.items()


def test_the_manifests_are_valid_for_the_schemas_of_kubernetes() -> None:
    validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is missing"
    )

    for one in yaml.safe_load_all(MANIFESTS.read_text()):
        validate.validate(one, validate.latest_version(), strict=True)
