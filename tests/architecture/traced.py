"""Runs a `timegate` command and records which functions are called while recording is on.

``python -m tests.architecture.traced DESCRIPTOR ARGUMENT...`` runs ``timegate ARGUMENT...``.
DESCRIPTOR is a connected socket: ``start`` turns the recording on and is answered by an empty
line; ``stop`` turns it off and is answered by a line of JSON with the functions by file.
"""

import json
import socket
import sys
import threading
from collections import defaultdict
from inspect import CO_OPTIMIZED
from types import FrameType

from timegate.cli import main


class Recorder:
    """A profile function for every thread; it records calls only while recording is on."""

    def __init__(self) -> None:
        self.recording = False
        self._functions: dict[str, set[str]] = defaultdict(set)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call, or the resumption of a coroutine or generator."""
        # Only functions have this flag; bodies of modules and classes run at import.
        if self.recording and event == "call" and frame.f_code.co_flags & CO_OPTIMIZED:
            # Inner functions are shown by the name of the outer one.
            name = frame.f_code.co_qualname.partition(".<locals>")[0]
            self._functions[_file(frame)].add(name)

    def functions(self) -> dict[str, list[str]]:
        """Return the names of the recorded functions by the file that they are in."""
        return {file: sorted(names) for file, names in self._functions.items()}


def _file(frame: FrameType) -> str:
    """Return the file of a function.

    The methods that `dataclass` generates, shown as ``__create_fn__``, are in the file of the
    class; the constructors of named tuples are in no file.
    """
    file = frame.f_code.co_filename
    return str(frame.f_globals.get("__file__", file)) if file == "<string>" else file


def control_recording(recorder: Recorder, control: socket.socket) -> None:
    """Execute the commands that arrive at *control*, until it is closed."""
    with control, control.makefile("rw") as lines:
        for command in lines:
            recorder.recording = command == "start\n"
            lines.write("\n" if recorder.recording else json.dumps(recorder.functions()) + "\n")
            lines.flush()


def run(descriptor: int, arguments: list[str]) -> None:
    """Run the command with *arguments* under a recorder."""
    recorder = Recorder()
    control = socket.socket(fileno=descriptor)
    threading.Thread(target=control_recording, args=(recorder, control), daemon=True).start()
    # For threads that start later, and for this one.
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    main(arguments, prog_name="timegate")


if __name__ == "__main__":
    run(int(sys.argv[1]), sys.argv[2:])
