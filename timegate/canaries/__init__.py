"""Canaries: of each archive now and then one page it must have, and one nobody can have.

Archives break silently. The TimeGate of one moved, and for months it seemed to hold nothing;
another had a copy of every page that was asked for, archived or not. Both look like answers.
Only who knows the answer beforehand can tell. Off unless an operator wants it: otherwise no
archive is asked what nobody wants to know (R14).

Pure: `questions` (what is asked, and what an answer means), `history`, `schedule`, `telling`.
Edges: `board` (where histories are kept), `watch` (asks), `opening`.
"""

from timegate.canaries.opening import Canaries, open_canaries

__all__ = ["Canaries", "open_canaries"]
