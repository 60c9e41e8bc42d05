"""``python -m timegate``."""

from timegate.cli import main

main()
