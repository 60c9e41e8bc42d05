"""Asks all archives for their lists of a page, and prints the merged one as it arrives."""

import json
from contextlib import aclosing
from typing import Final

import click

from archives.errors import ArchiveError
from timegate.app import running
from timegate.config import Config
from timegate.web.call import ClientRequest, EarlyResponse, Response, StreamingResponse

_NOTHING_FOUND: Final = 3
_NO_ANSWER: Final = 4
_CODES: Final = {200: 0, 400: 2, 404: _NOTHING_FOUND, 414: 2, 422: 2}


async def print_list(config: Config, target: str) -> int:
    """Print what *target* means behind ``/timemap/``; return the exit code."""
    async with running(config, config.base_url or "http://127.0.0.1:1208") as app:
        answer: Response | StreamingResponse
        try:
            answer = await app.timemap(ClientRequest("GET", target, {}))
        except EarlyResponse as declined:
            answer = declined.answer
        if isinstance(answer, StreamingResponse):
            return await _copied(answer)
        if answer.status == 200:
            click.echo(answer.body, nl=False)
        else:
            problem = json.loads(answer.body)
            click.echo(f"{problem['title']}: {problem['detail']}", err=True)
    return _CODES.get(answer.status, _NO_ANSWER)


async def _copied(stream: StreamingResponse) -> int:
    try:
        async with aclosing(stream.chunks) as chunks:
            async for chunk in chunks:
                click.echo(chunk, nl=False)
    except ArchiveError as error:
        click.echo(f"the list broke off: {error}", err=True)
        return _NO_ANSWER
    return 0
