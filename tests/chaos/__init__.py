"""Fault injection with real processes: each scenario prints its figures and the targets."""
