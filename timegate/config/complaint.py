"""What is wrong with a configuration, and where."""

import os


class BadConfig(ValueError):
    """A configuration that cannot be used; says which file, which key, and what is allowed."""


def bad(where: str, key: str, why: str) -> BadConfig:
    variable = f"TIMEGATE_{key.replace('.', '_')}".upper()
    place = f"{variable} in the environment" if variable in os.environ else f"{where}: {key}"
    return BadConfig(f"{place}: {why}")
