"""Faults with real processes: each scenario prints its figure beside the target."""
