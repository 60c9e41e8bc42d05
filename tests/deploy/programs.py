"""Programs that are not ours: found where they are installed, a reason to skip where not."""

import os
import shutil

import pytest


def installed(name: str, package: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed (apt: {package})")
    return found
