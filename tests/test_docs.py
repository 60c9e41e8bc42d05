"""The documents agree with the code: tables, examples of configuration, rules and links."""

import re
import subprocess
import sys
from pathlib import Path
from typing import cast

from archives.model import Closest, Memento
from archives.registry import load_known
from timegate.config import load_config
from timegate.endpoints.openapi import description
from timegate.identifiers import parse
from timegate.pages.archives import CHECKS_PATH as CHECKS
from timegate.resolution.model import Attempt, Preferences, Resolution
from timegate.resolution.query import query_for
from timegate.resolution.resolver import Resolver
from timegate.responses import problems
from timegate.responses.answers import Answers
from timegate.responses.model import OWN_PARAMETERS, Response
from timegate.server import routes
from timegate.timemaps import FORMATS
from timegate.verdict import Member, Verdict
from timegate.verdict.words import GRADES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
HTTP = (ROOT / "docs/http.md").read_text()
CONFIGURATION = (ROOT / "docs/configuration.md").read_text()
WORKED_EXAMPLE = "urn:pwid:archive.org:2016-01-22T11:20:29Z:page:http://www.dr.dk"
NO_RESOLVER = cast("Resolver", None)


def worked_answer() -> Response:
    """Answer the worked example where archive.org is silent and arquivo.pt has a copy."""
    registry = load_known()
    query = query_for(parse(WORKED_EXAMPLE, registry), registry)
    uri = "https://arquivo.pt/wayback/20160123040000/http://www.dr.dk"
    memento = Memento("20160123040000", uri, "http://www.dr.dk", "arquivo-pt", 200)
    found = Attempt(
        "arquivo-pt", Closest(memento, "timegate", evidence="delivered"), 0.4, query.original
    )
    resolution = Resolution(
        query, Preferences(), found, (), (found,), unanswered=("internet-archive",)
    )
    answers = Answers(NO_RESOLVER, registry, "https://timegate.example.org")
    return answers.redirect(resolution, vary="accept, prefer")


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 180


def test_the_readme_names_the_commands_of_continuous_integration() -> None:
    commands = re.findall(r"^(make [a-z-]+)", (ROOT / ".ci/run").read_text(), re.MULTILINE)

    assert "make run" in commands
    assert "make test" in commands
    for command in commands:
        assert f"    {command} " in README, f"README.md lacks {command}"


def test_every_route_is_documented() -> None:
    paths = re.findall(r'^ +"(/[^"]*)": ', Path(routes.__file__).read_text(), re.MULTILINE)

    assert len(paths) > 25
    for path in [*paths, CHECKS]:
        assert re.search(rf"[`\s]{re.escape(path)}[`?{{/]", HTTP), f"docs/http.md lacks {path}"


def test_every_path_of_the_description_is_documented() -> None:
    shown = HTTP.lower()

    paths = description("").get("paths")
    assert isinstance(paths, dict)
    for path in paths:
        fixed = path.partition("{")[0]
        assert f"`{fixed}" in shown, f"docs/http.md lacks {path}"


def test_every_parameter_is_documented() -> None:
    table = section(HTTP, "Parameters")

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == OWN_PARAMETERS


def test_every_member_of_the_verdict_is_documented() -> None:
    table = section(HTTP, "Memento-Precision")
    members = [name for name, _ in Verdict(Member("none")).members()]

    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == members


def test_every_problem_is_documented() -> None:
    table = section(HTTP, "Problems")
    source = Path(problems.__file__).read_text()
    known = set(re.findall(r'^    "([a-z-]+)": ', source, re.MULTILINE))

    assert set(re.findall(r"^\| [0-9]{3} \| `([a-z-]+)` \|", table, re.MULTILINE)) == known


def test_every_format_of_timemaps_is_documented() -> None:
    table = section(HTTP, "TimeMaps")

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == FORMATS.keys()


def section(document: str, title: str) -> str:
    """Return the text below the heading *title*."""
    return document.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_annotated_answer_is_what_we_answer() -> None:
    shown = HTTP.partition("```http\n")[2].partition("```")[0]
    headers = worked_answer().headers

    for line in shown.splitlines()[1:]:
        name, _, value = line.partition(": ")
        assert headers[name] == value


def test_the_table_of_grades_is_the_one_that_the_product_uses() -> None:
    rows = [
        f"| `{match}` | {distance} | {row.headline} | "
        f"{'redirect' if row.redirects else 'page'} | {0 if row.meets else 1} |"
        for (match, distance), row in GRADES.items()
        if match != "none"
    ]
    head = "| match | distance | words | browser | exit code |"
    table = "\n".join([head, "|---|---|---|---|---|", *rows])

    shown = HTTP.partition("<!-- grades -->\n")[2].partition("\n<!-- /grades -->")[0]

    assert shown == table, f"docs/http.md should have:\n{table}"


def test_the_table_of_archives_is_what_the_registry_says() -> None:
    rows = [f"| `{e.id}` | {e.name} | {e.because} |" for e in load_known().used]
    table = "\n".join(["| id | archive | why |", "|---|---|---|", *rows])

    shown = README.partition("<!-- archives -->\n")[2].partition("\n<!-- /archives -->")[0]

    assert shown == table, f"README.md should have:\n{table}"


def test_the_configuration_shown_is_accepted(tmp_path: Path) -> None:
    config = tmp_path / "timegate.toml"
    shown = re.findall(r"```toml\n((?:.*\n)*?)```", CONFIGURATION)
    config.write_text(next(block for block in shown if "contact" in block))

    loaded = load_config(config)

    assert loaded.contact == "mailto:web@example.org"
    assert [entry.id for entry in loaded.registry.used if entry.id != "intranet"] == [
        "arquivo-pt",
        "internet-archive",
    ]


def test_the_make_targets_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    named = set(
        re.findall(r"(?:`|    )make ([a-z-]+)", README + (ROOT / "CONTRIBUTING.md").read_text())
    )

    assert {f"\n{target}:" in makefile for target in named} == {True}


def test_every_rule_that_the_code_cites_is_explained() -> None:
    rules = set(re.findall(r"\*\*([A-Z]-?[0-9]+)\*\*", (ROOT / "docs/rules.md").read_text()))
    cited = {
        rule
        for package in ("archives", "timegate")
        for path in (ROOT / package).rglob("*.py")
        for rule in re.findall(
            r"\b(?:[GNTPUDIRMLAEFXSVHQK]-[0-9]{1,2}|R[0-9]{1,2})\b", path.read_text()
        )
    }

    assert cited <= rules, f"docs/rules.md lacks {sorted(cited - rules)}"


def test_links_in_the_documents_lead_somewhere() -> None:
    for document in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_ten_lines_lead_to_a_cited_kept_and_followed_page() -> None:
    """`tests/test_documents.py` runs them."""
    text = (ROOT / "docs" / "store.md").read_text()
    block = text.partition("```console\n")[2].partition("```")[0]
    commands = [line for line in block.splitlines() if line.startswith("$ ")]

    assert 0 < len(commands) <= 10
    assert not any(line.endswith("\\") for line in block.splitlines())
    for step in ("serve", "-X PUT", "/duri:", "timegate keep", "timegate follow"):
        assert any(step in command for command in commands), step


def test_the_module_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "timegate", "parse", "http://example.org/"]

    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603

    assert "plain URL" in printed
