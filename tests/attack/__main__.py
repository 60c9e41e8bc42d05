"""``make attack``: all rows or the named ones; exits with 1 if one did not hold."""

from tests.attack import (
    hostile_archives,
    hostile_clients,
    hostile_files,
    hostile_surroundings,
    malformed_archives,
)
from tests.chaos import bombs, forbidden_addresses, smuggling
from tests.chaos.running import command

GROUPS = (
    hostile_archives,
    malformed_archives,
    hostile_clients,
    hostile_files,
    hostile_surroundings,
    smuggling,
    forbidden_addresses,
    bombs,
)
SCENARIOS = tuple(scenario for group in GROUPS for scenario in group.SCENARIOS)

if __name__ == "__main__":
    command(SCENARIOS, "attack", "Attack real processes on 127.0.0.1.")()
