"""Broken configurations, workers that die, foreign text on terminals."""

import asyncio
import os
import re
import signal
from typing import Final

from tests import warcs
from tests.attack.rig import (
    DATE,
    PAGE,
    STAMP,
    asking,
    entry,
    healthy,
    response,
    scripted,
    until,
)
from tests.chaos.rig.asking import statuses
from tests.chaos.rig.processes import children, python
from tests.chaos.rig.timegates import HEAD, TimeGate, free_port, timegate
from tests.chaos.scenario import Rig, Scenario

_ESCAPES: Final = "\x1b]0;title\x07\x1b[31m\x9b31m\u202etxt\u2066\x7f\x08\x00\r"
_RAW: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


async def broken_reloads(rig: Rig) -> None:
    """SIGHUP with every kind of broken configuration keeps the old one (T6)."""
    deep = "[" * 5000
    texts = {
        "5,000 brackets": f"a={deep}",
        "5,000 tables": "a=" + "{a=" * 5000,
        "a key of 5,000 dots": ".".join("a" * 5000) + " = 1",
        "brackets in an address": f'[[archive]]\nid="x"\nkind="memento"\ntimegate="{deep}"',
        "NUL": "\0",
        "not UTF-8": "\udcff\udcfe",
        "an unknown key": "[listen]\nprot = 1\n",
        "a wrong type": "listen = 3",
        "a number of 5,000 digits": f"[limits]\nin_flight = {'9' * 5000}",
        "an archive twice": '[[archive]]\nid="x"\nkind="warc"\npath="/nowhere"\n' * 2,
        "a folder that is a file": '[[archive]]\nid="x"\nkind="warc"\npath="/etc/passwd"\n',
        "a pattern": '[deny]\nurls = ["(((((((((("]\n',
        "nothing at all": None,
    }
    async with scripted(lambda _m, _t: None) as archive:
        archive.answering = healthy(lambda: archive.base)
        config = entry("good", archive.base)
        with timegate(rig.place("t"), config) as server:
            file = rig.folder / "t" / "timegate.toml"
            failed, silent = [], []
            for number, (name, text) in enumerate(texts.items()):
                if text is None:
                    file.unlink()
                else:
                    octets = text.encode(errors="surrogateescape")
                    await asyncio.to_thread(file.write_bytes, octets)
                before = _refused(server)
                server.running.send(signal.SIGHUP)
                await until(lambda n=before: _refused(server) > n, 10)  # type: ignore[misc]
                if _refused(server) <= before:
                    silent.append(name)
                if not server.running.alive:
                    failed.append(f"{name}: dead")
                    break
                answer = await asking(server.port).ask(f"/timegate/{PAGE}{number}")
                if answer.status != 302:
                    failed.append(f"{name}: {answer.status}")
            await asyncio.to_thread(file.write_text, HEAD + config)
            server.running.send(signal.SIGHUP)
            await until(lambda: "taken=True" in server.running.log_text(), 8)
            repaired = "taken=True" in server.running.log_text()
    rig.promise(
        f"{len(texts)} broken configurations, SIGHUP for each: requests that fail",
        f"{failed or 0}; not said in the log: {silent or 0}; repaired: {repaired}",
        "0, 0, True",
        met=not failed and not silent and repaired,
    )


def _refused(server: TimeGate) -> int:
    return server.running.log_text().count("taken=False")


async def dying_workers(rig: Rig) -> None:
    """Workers are killed as soon as they live (T5)."""
    kills = rig.scaled(6, 4)
    async with scripted(lambda _m, _t: None) as archive:
        archive.answering = healthy(lambda: archive.base)
        with timegate(
            rig.place("t"),
            entry("good", archive.base),
            listen="[listen]\nworkers = 2\n",
            port=free_port(),
        ) as server:
            parent = server.running.pid
            for _ in range(kills):
                await until(lambda: bool(children(parent)), 10)
                for child in children(parent)[:1]:
                    os.kill(child, signal.SIGKILL)
                await asyncio.sleep(0.3)
            for child in children(parent):
                os.kill(child, signal.SIGKILL)
            alive = server.running.alive
            again = await until(lambda: len(children(parent)) == 2, 60)
            answers = []
            for n in range(60):
                answers = await asking(server.port).at_once([f"/timegate/{PAGE}{n}"] * 4, 2)
                if all(a.status == 302 for a in answers):
                    break
                await asyncio.sleep(0.5)
            log = server.running.log_text()
    why = [line for line in log.splitlines() if "SIGKILL" in line or "signal 9" in line]
    rig.promise(
        f"{kills + 2} workers killed young, at last all of them",
        f"parent {'alive' if alive else 'dead'}, both back after {again:.1f} s, "
        f"{statuses(answers)}, {len(why)} lines say why",
        "alive, answers, reasons",
        met=alive and bool(why) and all(a.status == 302 for a in answers),
    )


async def foreign_text(rig: Rig) -> None:
    """Escapes in everything that archives and files say, printed by every command (T9)."""
    latin = _ESCAPES.replace("\u202e", "\xe2\x80\xae").replace("\u2066", "\xe2\x81\xa6")
    latin = latin.replace("\x00", "").replace("\r", "")
    async with scripted(lambda _m, _t: None) as archive:
        address = f"{archive.base}/web/{STAMP}/{PAGE}{latin}"
        link = f'<{address}>; rel="memento"; datetime="{DATE}"; title="{latin}"'
        archive.answering = lambda _m, target: (
            response(
                "200 OK", "Content-Type: application/link-format", body=link.encode("latin-1")
            )
            if "timemap" in target
            else response(
                "302 Found",
                f"Location: {address}",
                f"Link: {link}",
                f"Server: {latin}",
                f"Content-Type: {latin}",
            )
        )
        config = rig.folder / "c.toml"
        config.write_text(HEAD + entry("evil", archive.base))
        folder = rig.place("warcs")
        record = warcs.response(f"http://example.com/{_ESCAPES}")
        (folder / "a\x1b[31m.warc.gz").write_bytes(warcs.gzipped(record))
        (folder / "broken\x9b.warc.gz").write_bytes(b"\x1b[31m no WARC")
        listed = rig.folder / "list.csv"
        listed.write_text(f"url,date,note\n{PAGE},2016,{_ESCAPES[:-2]}\n{_ESCAPES[:-2]},x,y\n")
        own = ("--config", str(config))
        commands = {
            "closest": ("closest", "evil", PAGE, "2016", *own),
            "resolve": ("resolve", f"duri:2016:{PAGE}", *own),
            "resolve (bad)": ("resolve", _ESCAPES[:-2], *own),
            "resolve --batch": ("resolve", "--batch", str(listed), *own),
            "timemap": ("timemap", PAGE, *own),
            "check": ("check", f"{archive.base}/timegate/"),
            "index": ("index", str(folder)),
            "parse": ("parse", _ESCAPES[:-2]),
            "titles": ("titles", str(listed), *own),
            "serve (config)": ("serve", "--config", str(rig.folder / f"none{_ESCAPES[:-2]}")),
        }
        raw = {}
        for name, words in commands.items():
            printed = await _printed(*words)
            if found := sorted(set(_RAW.findall(printed))):
                raw[name] = found
        with timegate(rig.place("t"), entry("evil", archive.base)) as server:
            await asking(server.port).ask(f"/timegate/{PAGE}")
            await asyncio.sleep(0.2)
            if found := sorted(set(_RAW.findall(server.running.log_text()))):
                raw["serve"] = found
    rig.promise(
        f"{len(commands) + 1} commands print text with terminal escapes: raw characters",
        f"{raw or 0}",
        "0",
        met=not raw,
    )


async def _printed(*words: str) -> str:
    """Run a command; return what it prints on both streams."""
    process = await asyncio.create_subprocess_exec(
        *python("timegate", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 40)
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return output.decode(errors="replace")


SCENARIOS: Final = (
    Scenario("broken-reloads", "16.6, T6", broken_reloads, 240),
    Scenario("dying-workers", "16.6, T5", dying_workers, 240),
    Scenario("foreign-text", "16.7, T9", foreign_text, 300),
)
