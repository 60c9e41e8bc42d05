"""``make chaos``: all scenarios or the named ones; exits with 1 if a promise is broken."""

from tests.chaos import (
    bombs,
    collection_files,
    dead_archives,
    forbidden_addresses,
    large_answers,
    lifecycle,
    local_cache,
    logs,
    metrics,
    names,
    network,
    other_releases,
    redis_trouble,
    reload,
    replicas,
    series,
    smuggling,
    store,
    store_clients,
)
from tests.chaos.running import command

GROUPS = (
    dead_archives,
    network,
    names,
    redis_trouble,
    replicas,
    local_cache,
    other_releases,
    lifecycle,
    collection_files,
    reload,
    logs,
    metrics,
    bombs,
    large_answers,
    forbidden_addresses,
    smuggling,
    store,
    store_clients,
    series,
)
SCENARIOS = tuple(scenario for group in GROUPS for scenario in group.SCENARIOS)

if __name__ == "__main__":
    command(SCENARIOS, "chaos", "Inject faults into real processes on 127.0.0.1.")()
