"""Regular expressions that strangers write, matched in linear time.

Python's engine backtracks: ``(a|a)*b`` takes it forever. Here the expression becomes a machine
whose states are all followed at once, so a text costs its length times that of the expression
at most, and usually a look into a table for each character. What cannot be matched so, such as
back references, is refused, and so is what nobody needs to pick captures.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from archives.diagnostics import Malformed

ALLOWED: Final = (
    r"letters, . [a-z] [^a-z] \d \w \s, groups with |, and * + ? behind one of them"
)
LONGEST: Final = 100
_DEEPEST: Final = 10
_MOST_REMEMBERED: Final = 1_000
_DIGITS: Final = frozenset("0123456789")
_WORD: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": frozenset(" \t\n\r\x0b\x0c")}
_SPECIAL: Final = frozenset("^$*+?{}()[]|\\")


class _Chars(NamedTuple):
    """One character: of these, or of all but these."""

    chars: frozenset[str]
    negated: bool = False

    def holds(self, char: str) -> bool:
        return (char in self.chars) != self.negated


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    parts: tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    part: "_Node"
    mark: str


_Node = _Chars | _Sequence | _Choice | _Repeat
_ANY: Final = _Chars(frozenset(), negated=True)


class Pattern:
    """An expression that is compared with whole texts."""

    def __init__(self, expression: str, *, prefix: bool = False) -> None:
        """Read *expression*; with *prefix*, anything may follow it. Raises Malformed."""
        tree, ended = _Reader(expression).read()
        if prefix and not ended:
            tree = _Sequence((tree, _Repeat(_ANY, "*")))
        machine = _Machine()
        self._machine = machine
        self._start = _Place(machine, machine.reached([machine.built(tree, machine.end)]))
        self._places: dict[frozenset[int], _Place] = {}

    def matches(self, text: str) -> bool:
        """Whether all of *text* is what the expression says."""
        place = self._start
        for char in text:
            place = place.moves.get(char) or self._moved(place, char)
        return place.accepts

    def _moved(self, place: "_Place", char: str) -> "_Place":
        states = self._machine.moved(place.states, char)
        known = self._places.get(states)
        if known is None:
            if len(self._places) >= _MOST_REMEMBERED:
                self._forget()
            known = self._places[states] = _Place(self._machine, states)
        if char.isascii():
            place.moves[char] = known
        return known

    def _forget(self) -> None:
        for place in (self._start, *self._places.values()):
            place.moves.clear()
        self._places.clear()


class _Place:
    """Where the machine is: in all of these states at once."""

    __slots__ = ("accepts", "moves", "states")

    def __init__(self, machine: "_Machine", states: frozenset[int]) -> None:
        self.states = states
        self.accepts = machine.end in states
        self.moves: dict[str, _Place] = {}


class _Machine:
    """States that wait for a character (or for none) and those that come next (Thompson)."""

    end: Final = 0

    def __init__(self) -> None:
        self._waits: list[_Chars | None] = [None]
        self._next: list[list[int]] = [[]]

    def built(self, node: _Node, out: int) -> int:
        """Add the states of *node*, which lead to *out*; return where they begin."""
        if isinstance(node, _Chars):
            return self._state(node, [out])
        if isinstance(node, _Sequence):
            for part in reversed(node.parts):
                out = self.built(part, out)
            return out
        if isinstance(node, _Choice):
            return self._state(None, [self.built(part, out) for part in node.parts])
        if node.mark == "?":
            return self._state(None, [self.built(node.part, out), out])
        fork = self._state(None, [out])
        body = self.built(node.part, fork)
        self._next[fork].append(body)
        return fork if node.mark == "*" else body

    def moved(self, states: Iterable[int], char: str) -> frozenset[int]:
        """Return where *char* leads from *states*."""
        following: list[int] = []
        for state in states:
            wait = self._waits[state]
            if wait is not None and wait.holds(char):
                following += self._next[state]
        return self.reached(following)

    def reached(self, states: list[int]) -> frozenset[int]:
        """Return *states* and those that are reached from them without a character."""
        seen: set[int] = set()
        while states:
            state = states.pop()
            if state not in seen:
                seen.add(state)
                if self._waits[state] is None:
                    states += self._next[state]
        return frozenset(seen)

    def _state(self, wait: _Chars | None, following: list[int]) -> int:
        self._waits.append(wait)
        self._next.append(following)
        return len(self._waits) - 1


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise Malformed("bad-pattern", f"at most {LONGEST} characters", LONGEST)
        self._text = text
        self._at = 0
        self._depth = 0

    def read(self) -> tuple[_Node, bool]:
        """Return the tree, and whether the text must end where it ends (``$``)."""
        text = self._text
        escaped = len(text[:-1]) - len(text[:-1].rstrip("\\"))
        ended = text.endswith("$") and escaped % 2 == 0
        if ended:
            self._text = text[:-1]
        self._at = 1 if text.startswith("^") else 0
        tree = self._choice()
        if self._at < len(self._text):
            raise self._complaint()
        if isinstance(tree, _Choice) and (ended or text.startswith("^")):
            raise Malformed("bad-pattern", "put ( ) around what is between ^ and $", 0)
        return tree, ended

    def _choice(self) -> _Node:
        parts = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Choice(tuple(parts))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._atom()))
        return _Sequence(tuple(parts))

    def _repeated(self, part: _Node) -> _Node:
        mark = self._peek()
        if mark not in ("*", "+", "?"):
            return part
        self._at += 1
        if self._peek() == "?":
            # As few as possible or as many: the same whole texts match.
            self._at += 1
        return _Repeat(part, mark)

    def _atom(self) -> _Node:
        char = self._peek()
        if char == "(":
            return self._group()
        if char not in (".", "[", "\\") and char in _SPECIAL:
            raise self._complaint()
        self._at += 1
        if char == ".":
            return _ANY
        if char == "[":
            return self._class()
        return self._escape() if char == "\\" else _Chars(frozenset(char))

    def _group(self) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Malformed("bad-pattern", f"at most {_DEEPEST} groups in groups", self._at)
        self._at += 3 if self._text.startswith("?:", self._at + 1) else 1
        inside = self._choice()
        if self._peek() != ")":
            raise self._complaint()
        self._at += 1
        self._depth -= 1
        return inside

    def _escape(self) -> _Chars:
        char = self._peek()
        self._at += 1
        if char.lower() in _CLASSES:
            return _Chars(_CLASSES[char.lower()], negated=char.isupper())
        if not char or char.isalnum():
            self._at -= 1
            raise self._complaint()
        return _Chars(frozenset(char))

    def _class(self) -> _Chars:
        negated = self._peek() == "^"
        self._at += negated
        chars: set[str] = set()
        while self._peek() not in ("]", "[", ""):
            chars |= self._member()
        if self._peek() != "]" or not chars:
            raise self._complaint()
        self._at += 1
        return _Chars(frozenset(chars), negated)

    def _member(self) -> frozenset[str]:
        first = self._peek()
        self._at += 1
        if first == "\\":
            return self._escaped_member()
        last = self._text[self._at + 1 : self._at + 2]
        if self._peek() != "-" or last in ("]", ""):
            return frozenset(first)
        if last == "\\" or not first <= last <= "~":
            raise self._complaint()
        self._at += 2
        return frozenset(map(chr, range(ord(first), ord(last) + 1)))

    def _escaped_member(self) -> frozenset[str]:
        inside = self._escape()
        if inside.negated:
            raise self._complaint()
        return inside.chars

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _complaint(self) -> Malformed:
        return Malformed("bad-pattern", f"allowed are {ALLOWED}", self._at)
