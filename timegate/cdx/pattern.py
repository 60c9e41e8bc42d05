"""Untrusted regular expressions, matched in linear time.

Python's engine backtracks: ``(a|a)*b`` takes exponential time. Here the expression becomes a
Thompson automaton whose states are followed in parallel, so matching takes at most the length
of the text times that of the expression, and usually one table lookup per character. What
cannot be matched like this, such as back references, is rejected, and so is syntax that is
not needed to filter captures.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from archives.diagnostics import Malformed

ALLOWED: Final = r"letters, . [a-z] [^a-z] \d \w \s, groups with |, and * + ? after one of them"
LONGEST: Final = 100
_DEEPEST: Final = 10
_MOST_STATE_SETS: Final = 1_000
_DIGITS: Final = frozenset("0123456789")
_WORD: Final = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": frozenset(" \t\n\r\x0b\x0c")}
_SPECIAL: Final = frozenset("^$*+?{}()[]|\\")


class _Chars(NamedTuple):
    """One character: one of *chars*, or if negated any other."""

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
    """A regular expression that is matched against whole texts."""

    def __init__(self, expression: str, *, prefix: bool = False) -> None:
        """Compile *expression*; with *prefix*, anything may follow it. Raises Malformed."""
        tree, ended = _Parser(expression).read()
        if prefix and not ended:
            tree = _Sequence((tree, _Repeat(_ANY, "*")))
        machine = _Machine()
        self._machine = machine
        self._start = _StateSet(machine, machine.reached([machine.built(tree, machine.end)]))
        self._state_sets: dict[frozenset[int], _StateSet] = {}

    def matches(self, text: str) -> bool:
        """Whether the expression matches the whole *text*."""
        current = self._start
        for char in text:
            current = current.moves.get(char) or self._moved(current, char)
        return current.accepts

    def _moved(self, current: "_StateSet", char: str) -> "_StateSet":
        states = self._machine.moved(current.states, char)
        known = self._state_sets.get(states)
        if known is None:
            if len(self._state_sets) >= _MOST_STATE_SETS:
                self._forget()
            known = self._state_sets[states] = _StateSet(self._machine, states)
        if char.isascii():
            current.moves[char] = known
        return known

    def _forget(self) -> None:
        for each in (self._start, *self._state_sets.values()):
            each.moves.clear()
        self._state_sets.clear()


class _StateSet:
    """A set of automaton states, with the sets that are reached by each character."""

    __slots__ = ("accepts", "moves", "states")

    def __init__(self, machine: "_Machine", states: frozenset[int]) -> None:
        self.states = states
        self.accepts = machine.end in states
        self.moves: dict[str, _StateSet] = {}


class _Machine:
    """A Thompson automaton: states that wait for a character or none, and their successors."""

    end: Final = 0

    def __init__(self) -> None:
        self._waits: list[_Chars | None] = [None]
        self._next: list[list[int]] = [[]]

    def built(self, node: _Node, out: int) -> int:
        """Add the states of *node*, which lead to *out*; return the first one."""
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
        """Return the states that *char* leads to from *states*."""
        following: list[int] = []
        for state in states:
            wait = self._waits[state]
            if wait is not None and wait.holds(char):
                following += self._next[state]
        return self.reached(following)

    def reached(self, states: list[int]) -> frozenset[int]:
        """Return *states* and all states reached from them without a character."""
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


class _Parser:
    """Recursive-descent parser of an expression."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise Malformed(
                "bad-pattern", f"an expression has at most {LONGEST} characters", LONGEST
            )
        self._text = text
        self._at = 0
        self._depth = 0

    def read(self) -> tuple[_Node, bool]:
        """Return the tree, and whether the expression ends with ``$``."""
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
            raise Malformed("bad-pattern", "put ( ) around alternatives between ^ and $", 0)
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
            # A lazy repeat matches the same whole texts as a greedy one.
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
            raise Malformed(
                "bad-pattern", f"groups may be nested at most {_DEEPEST} deep", self._at
            )
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
        return Malformed("bad-pattern", f"only {ALLOWED} are allowed", self._at)
