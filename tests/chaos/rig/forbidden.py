"""Forbidden addresses, in every spelling that some software understands."""

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from typing import Final

_FOUR: Final = (
    *("127.0.0.1", "169.254.169.254", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1"),
    "0.0.0.0",  # noqa: S104 -- as a target
)
_SIX: Final = ("::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1")
_NAMES: Final = (
    *("localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "ip6-localhost"),
    *("metadata.google.internal", "instance-data", "printer.local", "db.internal", "redis"),
    *("127.0.0.1.nip.io", "localtest.me", "ⓛocalhost", "localhost", "loc%61lhost"),
)


def _wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isdecimal() else c for c in text)


def _four(text: str) -> Iterator[str]:
    address = IPv4Address(text)
    number, parts = int(address), text.split(".")
    octal = ".".join(f"0{int(part):o}" for part in parts)
    hexadecimal = ".".join(hex(int(part)) for part in parts)
    yield from (text, f"{text}.", str(number), hex(number), hex(number).upper(), f"0{number:o}")
    yield from (octal, hexadecimal, f"{octal}.", f"{parts[0]}.{number & 0xFFFFFF}")
    yield f"{parts[0]}.{parts[1]}.{number & 0xFFFF}"
    yield from (_wide(text), text.replace(".", "。"), text.replace(".", "%2e"))
    yield from (f"user@{text}", f"good.example@{text}", f"{text}%00.good.example")
    yield from (f"good.example%23@{text}", f"{text}#@good.example", f"%31{text[1:]}")
    yield from _wrapped(address)


def _wrapped(address: IPv4Address) -> Iterator[str]:
    high, low = divmod(int(address), 65536)
    yield from (f"[::ffff:{address}]", f"[::ffff:{high:x}:{low:x}]", f"[::{address}]")
    yield from (f"[64:ff9b::{address}]", f"[64:ff9b:1::{high:x}:{low:x}]")
    yield from (f"[2002:{high:x}:{low:x}::]", f"[::ffff:0:{high:x}:{low:x}]")
    yield f"[2001:0:{high:x}:{low:x}::{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}]"
    yield f"[fe80::5efe:{high:x}:{low:x}]"


def _six(text: str) -> Iterator[str]:
    yield from (f"[{text}]", f"[{IPv6Address(text).exploded}]", f"[{text}%25lo]")
    yield f"[{text.upper()}]"


def spellings() -> list[str]:
    """Return host parts of URLs, some of them malformed."""
    found = [spelled for text in _FOUR for spelled in _four(text)]
    found += [spelled for text in _SIX for spelled in _six(text)]
    found += [*_NAMES, *(f"user@{name}" for name in _NAMES)]
    return list(dict.fromkeys(found))
