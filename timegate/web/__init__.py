"""The HTTP interface: raw targets in, answers out. Only `server` knows aiohttp."""
