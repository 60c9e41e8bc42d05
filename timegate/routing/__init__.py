"""Routing: which archives are queried for a page, in which order, and which are not."""

from timegate.routing.mementomap import MementoMap, Presence
from timegate.routing.observations import (
    CombinedKnowledge,
    Experience,
    HoldingCount,
    Knowledge,
    Latency,
    Observations,
    Outcome,
    Standing,
)
from timegate.routing.planner import RankedArchives, Step, order

__all__ = [
    "CombinedKnowledge",
    "Experience",
    "HoldingCount",
    "Knowledge",
    "Latency",
    "MementoMap",
    "Observations",
    "Outcome",
    "Presence",
    "RankedArchives",
    "Standing",
    "Step",
    "order",
]
