"""THTTP operations (RFC 2169, RFC 2483) on PDIs of configured series."""

import secrets
from typing import Final

from timegate.endpoints.series import LIST_TYPE, SeriesEndpoint
from timegate.identifiers.model import ParsedIdentifier
from timegate.identifiers.pdi import Pdi
from timegate.responses.model import ClientRequest, EarlyResponse, Response
from timegate.responses.problems import problem
from timegate.series import Representation
from timegate.series.catalogue import Listing
from timegate.series.records import body_of
from timegate.series.resolution import found_document, reading
from timegate.verdict import header_safe

_MOST_LISTED: Final = 5000
_MOST_OCTETS: Final = 64 << 20
_SEVERAL: Final = "it names more than one document; use the operation with s at its end"


class SeriesOperations:
    """Answers THTTP operations."""

    def __init__(self, endpoint: SeriesEndpoint) -> None:
        self._endpoint = endpoint

    def owns(self, found: ParsedIdentifier) -> bool:
        """Whether it is a PDI of a series that is configured."""
        return self._endpoint.owns(found)

    async def answer(
        self, request: ClientRequest, wanted: str, found: ParsedIdentifier
    ) -> Response | None:
        """Answer the operation whose output is *wanted*, such as ``LS``; None for names."""
        pdi = found.identifier
        endpoint = self._endpoint
        site = endpoint.series.get(pdi.series) if isinstance(pdi, Pdi) else None
        if not isinstance(pdi, Pdi) or site is None:
            return problem(404, "not-found", "this series is not served here")
        delegation = endpoint.delegation(site, pdi)
        if delegation is not None:
            return await endpoint.delegated(delegation, f"N2{wanted.replace('S', 's')}", pdi)
        if pdi.is_query and not wanted.endswith("S"):
            return problem(404, "not-found", _SEVERAL)
        if wanted in {"N", "NS"}:
            await self._check(found)
            return None
        if wanted in {"C", "CS"} and pdi.is_query:
            return await endpoint.listed(request, site, pdi, "as=json")
        return await self._output(request, wanted, found, pdi)

    async def _output(
        self, request: ClientRequest, wanted: str, found: ParsedIdentifier, pdi: Pdi
    ) -> Response:
        if wanted == "R":
            return await self._endpoint.content(request, found)
        if wanted in {"C", "CS"}:
            return await self._endpoint.description(found)
        representations = await self._representations(request, found)
        if wanted == "L":
            location = self._address(representations[0], pdi)
            return Response(303, {"Location": location, "Vary": "accept"})
        if wanted == "LS":
            lines = [f"# {pdi.canonical}", *(self._address(r, pdi) for r in representations)]
            body = "".join(f"{line}\r\n" for line in lines).encode()
            return Response(200, {"Content-Type": f"{LIST_TYPE}; charset=utf-8"}, body)
        return await self._several(request, found, representations)

    async def _check(self, found: ParsedIdentifier) -> None:
        """Raise EarlyResponse unless the document was minted."""
        if isinstance(found.identifier, Pdi) and found.identifier.is_query:
            return
        response = await self._endpoint.description(found)
        if response.status != 200:
            raise EarlyResponse(response)

    async def _representations(
        self, request: ClientRequest, found: ParsedIdentifier
    ) -> list[Representation]:
        """Return all that a PDI may mean, the best first."""
        pdi = found.identifier
        site = self._endpoint.series.get(pdi.series) if isinstance(pdi, Pdi) else None
        if not isinstance(pdi, Pdi) or site is None:
            return []
        if pdi.is_query:
            version = None if pdi.version in {None, "*"} else int(pdi.version or 0)
            listing = Listing(pdi.series, pdi.date, pdi.canonical_id, pdi.format, version)
            page = await self._endpoint.read_series(
                reading(site.catalogue.listed, listing, _MOST_LISTED, None)
            )
            return list(page.representations)
        document = await self._endpoint.read_series(found_document(site, pdi))
        best = self._endpoint.choose(document, pdi, request.header("Accept"))
        others = [
            each
            for each in document.representations
            if each.version == best.version and pdi.format is None and each != best
        ]
        return [best, *others]

    async def _several(
        self, request: ClientRequest, found: ParsedIdentifier, all_of_it: list[Representation]
    ) -> Response:
        """Answer with all formats as alternatives, or with the only one itself (H-2)."""
        held = [each for each in all_of_it if each.location is not None]
        if isinstance(found.identifier, Pdi) and found.identifier.is_query:
            held = held[:100]
        elif len(all_of_it) == 1:
            return await self._endpoint.content(request, found)
        if sum(each.size or 0 for each in held) > _MOST_OCTETS:
            detail = "these are too many octets for one answer; use N2Ls"
            return problem(404, "not-found", detail)
        boundary = f"pdi-{secrets.token_hex(16)}"
        parts = []
        for each in held:
            if each.location is None:
                continue
            body = await self._endpoint.read_series(reading(body_of, each.location))
            head = f"Content-Type: {each.media_type}\r\nContent-Location: {each.pdi}\r\n\r\n"
            parts.append(f"--{boundary}\r\n{head}".encode() + body + b"\r\n")
        octets = b"".join([*parts, f"--{boundary}--\r\n".encode()])
        kind = f'multipart/alternative; boundary="{boundary}"'
        headers = {"Content-Type": kind, "Vary": "accept", "Cache-Control": "no-cache"}
        headers["Content-Disposition"] = "attachment"
        return Response(200, headers, octets)

    def _address(self, found: Representation, pdi: Pdi) -> str:
        if found.is_bound and found.uri is not None and found.uri.startswith("http"):
            return header_safe(found.uri)
        return self._endpoint.address(found.pdi + pdi.suffix)
