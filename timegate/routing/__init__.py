"""Routing: whom to ask first, and whom not at all, so that archives are asked little."""

from timegate.routing.knowledge import CombinedKnowledge, Knowledge, Standing
from timegate.routing.mementomap import MementoMap, Presence
from timegate.routing.observations import (
    Experience,
    HoldingCount,
    Latency,
    Observations,
    Outcome,
)
from timegate.routing.plan import Cause, RankedArchives, Skip, Step, order

__all__ = [
    "Cause",
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
    "Skip",
    "Standing",
    "Step",
    "order",
]
