"""Speed of parsing identifiers, compared with `urllib.parse.urlsplit` on the same strings.

Every string is different and read once in a round, so that urlsplit's cache of the last 128
results has no effect.
"""

import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from urllib.parse import urlsplit

from archives.diagnostics import Malformed
from timegate.identifiers import parse

COUNT = 20_000
ROUNDS = 5


def main() -> None:
    """Print PWIDs and duris parsed per CPU second, and the growth of the time with length."""
    print(f"{'what':<34}{'a CPU second':>14}{'of urlsplit':>13}")
    for name, texts in samples().items():
        reference = rate(urlsplit, texts)
        print(f"{name + ', urlsplit':<34}{reference:>14,.0f}{1:>13.2f}")
        reading = rate(parse, texts)
        print(f"{name + ', parsed':<34}{reading:>14,.0f}{reading / reference:>13.2f}")
        naming = rate(lambda text: parse(text).identifier.canonical, texts)
        print(f"{name + ', parsed and written':<34}{naming:>14,.0f}{naming / reference:>13.2f}")
    print(
        "\nhostile text of 1, 2, 4, 8 KiB: growth of the time for each doubling (2 is linear)"
    )
    for name, text in hostile().items():
        seconds = [
            best(parse_or_reject, [text * (size // len(text.encode()))] * 50) for size in SIZES
        ]
        growth = " ".join(f"{b / a:5.2f}" for a, b in pairwise(seconds))
        print(f"{name:<34}{growth}   {seconds[-1] / 50 * 1e6:,.0f} us at 8 KiB")


def samples() -> dict[str, list[str]]:
    times = [
        f"20{i % 24:02}-0{i % 9 + 1}-1{i % 9}T1{i % 10}:2{i % 10}:{i % 60:02}"
        for i in range(COUNT)
    ]
    archives = ["archive.org", "netarkivet.dk", "arquivo.pt", "webarchiv.onb.ac.at"]
    return {
        "PWID": [
            f"urn:pwid:{archives[i % 4]}:{t}Z:page:http://www.example.org/news/{i}/index.html"
            for i, t in enumerate(times)
        ],
        "PWID with a query": [
            f"urn:pwid:{archives[i % 4]}:{t}Z:part:https://example.org/a%3Fid={i}&b=c%2520d"
            for i, t in enumerate(times)
        ],
        "duri": [f"duri:{t}Z:http://www.example.org/a?id={i}" for i, t in enumerate(times)],
        "duri of a day": [f"duri:{t[:10]}:http://example.org/{i}" for i, t in enumerate(times)],
    }


SIZES = (1024, 2048, 4096, 8128)


def hostile() -> dict[str, str]:
    return {
        "colons": ":",
        "spaces": " ",
        "percent signs": "%25",
        "brackets": "[",
        "dots": "a.",
        "PWID prefixes": "urn:pwid:a.b:2016-01-22Z:page:",
        "digits": "duri:2016-01-22T11:20:29.1234567890",
        "letters outside ASCII": "ü",
        "labels outside ASCII": "http://ü.",
    }


def parse_or_reject(text: str) -> object:
    try:
        return parse(text)
    except Malformed as error:
        return error


def rate(work: Callable[[str], object], texts: Sequence[str]) -> float:
    return len(texts) / best(work, texts)


def best(work: Callable[[str], object], texts: Sequence[str]) -> float:
    return min(_seconds(work, texts) for _ in range(ROUNDS))


def _seconds(work: Callable[[str], object], texts: Sequence[str]) -> float:
    start = time.process_time()
    for text in texts:
        work(text)
    return time.process_time() - start
