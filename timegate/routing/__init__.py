"""Routing: whom to ask first, and whom not at all, so that archives are asked little."""

from timegate.routing.knowledge import Knowledge, Known, Standing
from timegate.routing.mementomap import MementoMap, Presence
from timegate.routing.observations import Experience, Latency, Observations, Outcome, Tally
from timegate.routing.plan import Cause, Plan, Skip, Step, order

__all__ = [
    "Cause",
    "Experience",
    "Knowledge",
    "Known",
    "Latency",
    "MementoMap",
    "Observations",
    "Outcome",
    "Plan",
    "Presence",
    "Skip",
    "Standing",
    "Step",
    "Tally",
    "order",
]
