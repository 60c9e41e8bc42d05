"""``make load``: all scenarios or the named ones; exits with 1 if a promise is broken."""

from tests.chaos.running import command
from tests.load import bad_habits, large_cache, limits, many_clients, overload, pipelines, soak

GROUPS = (overload, many_clients, bad_habits, pipelines, large_cache, limits, soak)
SCENARIOS = tuple(scenario for group in GROUPS for scenario in group.SCENARIOS)

if __name__ == "__main__":
    command(SCENARIOS, "load", "Run load from many clients on 127.0.0.1.")()
