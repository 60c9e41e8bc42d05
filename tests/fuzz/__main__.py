"""``make fuzz``: atheris on each target, for *seconds* in all (an hour by default).

Cases that raise something else than the documented errors, or take longer than two seconds, are
printed and stored in ``.fuzz/found``; a fixed one becomes a seed of its target. New interesting
inputs are kept in ``.fuzz``, so that later runs go on from there.
"""

import subprocess
import sys
from pathlib import Path

import click

from tests.fuzz.targets import TARGETS

_CASE_SECONDS = 2
_MEMORY = 1024


def prepared(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the corpus of a target, with its seeds, and where faults are stored."""
    corpus, found = folder / name.replace(" ", "-"), folder / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    return corpus, found


@click.command()
@click.option("--seconds", default=3600, help="Seconds for all targets together.")
@click.option("--only", type=click.Choice([*TARGETS]), multiple=True)
def main(seconds: int, only: tuple[str, ...]) -> None:
    """Fuzz every parser and every seam."""
    names = only or tuple(TARGETS)
    failed = [name for name in names if not _run(name, max(seconds // len(names), 1))]
    click.echo(f"{len(names)} targets, faults in {', '.join(failed) or 'none'}")
    sys.exit(1 if failed else 0)


def _run(name: str, seconds: int) -> bool:
    corpus, found = prepared(Path(".fuzz"), name)
    prefix = f"{found}/{corpus.name}-"
    limits = (f"-max_total_time={seconds}", f"-timeout={_CASE_SECONDS}", "-max_len=4096")
    more = (f"-rss_limit_mb={_MEMORY}", f"-artifact_prefix={prefix}", "-print_final_stats=1")
    command = [sys.executable, "-m", "tests.fuzz.instrumented", name]
    click.echo(f"{name}: {seconds} s")
    ended = subprocess.run(  # noqa: S603 -- ourselves
        [*command, *limits, *more, str(corpus)], check=False, capture_output=True
    )
    output = ended.stderr.decode(errors="replace")
    runs = [line for line in output.splitlines() if "number_of_executed_units" in line]
    click.echo(
        f"  {runs[0].rpartition(' ')[2] if runs else '?'} cases, exit {ended.returncode}"
    )
    if ended.returncode:
        # The trace of an exception is in the standard output.
        click.echo(ended.stdout.decode(errors="replace")[-4000:])
        click.echo(output[-2000:])
    return not ended.returncode


if __name__ == "__main__":
    main()
