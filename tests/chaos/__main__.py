"""``make chaos``: every scenario, or those named; exits with 1 if a promise was broken."""

from tests.chaos import dead_archives, redis_trouble, replicas
from tests.chaos.running import command

SCENARIOS = (*dead_archives.SCENARIOS, *redis_trouble.SCENARIOS, *replicas.SCENARIOS)

if __name__ == "__main__":
    command(SCENARIOS, "Run faults with real processes on 127.0.0.1.")()
