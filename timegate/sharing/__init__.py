"""What replicas share in Redis or Valkey: answers, manners, questions under way, dead archives.

All of it is optional in every request. The client library is an extra, so nothing here imports
it before somebody asks for `open_shared`.
"""

from timegate.sharing.address import is_shared

__all__ = ["is_shared"]
