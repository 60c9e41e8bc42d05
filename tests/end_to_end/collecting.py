"""A folder of WARCs, indexed and served as the collection ``mine`` by our own server."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from archives.warc_index.building import index_collection
from tests.end_to_end.server import Running, serving

ID: Final = "mine"


@contextmanager
def running_collection(folder: Path) -> Iterator[Running]:
    """Index and serve the WARCs in *folder*; yields the address of the collection."""
    index_collection(folder)
    with tempfile.TemporaryDirectory() as name:
        config = Path(name) / "timegate.toml"
        config.write_text(
            f'[archives]\nuse = []\n[[archive]]\nid = "{ID}"\nkind = "warc"\n'
            f'path = "{folder}"\npwid = ["{ID}.example"]\n'
        )
        with serving("--config", str(config)) as server:
            yield Running(f"{server.url}/collections/{ID}", server.pid)
