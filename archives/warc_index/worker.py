"""A process that reads files for the indexer: what a hostile file does to it, it does alone.

``python -m archives.warc_index.worker DESCRIPTOR``, started by `archives.warc_index.crew`.
"""

import signal
import sys
from multiprocessing.connection import Connection

import msgspec

from archives.warc_index.reading import CaptureBatch, ScanTask, batches_in

Message = CaptureBatch | str | None
"""A batch; why the file could not be read; None at its end."""
_TASK = msgspec.msgpack.Decoder(ScanTask)
_encode = msgspec.msgpack.Encoder().encode


def serve(connection: "Connection[bytes, bytes]") -> None:
    """Read one file after another, as long as somebody asks."""
    while True:
        try:
            task = _TASK.decode(connection.recv_bytes())
        except EOFError:
            return
        try:
            for batch in batches_in(task):
                connection.send_bytes(_encode(batch))
        except OSError as error:
            if isinstance(error, BrokenPipeError | ConnectionResetError):
                return
            connection.send_bytes(_encode(f"cannot be read: {error.strerror}"))
        else:
            connection.send_bytes(_encode(None))


if __name__ == "__main__":
    # Ctrl-C reaches the whole group; whoever started us ends us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(Connection(int(sys.argv[1])))
