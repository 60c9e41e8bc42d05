"""Any identifier: ``/resolve/{identifier}``, ``/{identifier}``, and many at once by POST."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from archives.reading import Malformed
from archives.registry import Registry
from timegate.identifiers import parse
from timegate.policies import check_archives, preferences_from
from timegate.querying import NotNegotiable, query_for
from timegate.resolution import Preferences, Query
from timegate.web.answers import Answers
from timegate.web.call import ClientRequest, EarlyResponse, Response
from timegate.web.problems import not_negotiable, problem, unreadable
from timegate.web.targets import identifier_in, without_parameters

VARY: Final = "accept, prefer"
_MANNERS: Final = ("json", "html", "redirect")


class Resolve:
    """Answers requests for identifiers.

    The time stands in the identifier, so this is no TimeGate but an intermediate resource: no
    ``Vary: accept-datetime``, and a client's Accept-Datetime is ignored (M-41, D-10).
    """

    def __init__(self, answers: Answers, registry: Registry) -> None:
        self._answers = answers
        self._registry = registry

    async def __call__(self, call: ClientRequest) -> Response:
        """Redirect to the copy, report on it, or show how it differs: as the client wants."""
        text, parameters = without_parameters(call.rest)
        policy, applied = self._wishes(call, parameters)
        manner = _manner(parameters, call.header("Accept") or "")
        strict = _is_strict(call.header("Prefer") or "")
        if strict:
            applied = (*applied, "handling=strict")
        query = self._query(identifier_in(text), strict=strict)
        resolution = await self._answers.resolve(query, policy)
        if manner == "json":
            return self._answers.described(resolution, applied, vary=VARY)
        if manner == "redirect":
            return self._answers.redirect(resolution, applied, vary=VARY)
        always = parameters.get("as") == "html"
        return self._answers.shown(resolution, applied, vary=VARY, always=always)

    async def line(self, text: str, policy: Preferences) -> bytes:
        """Resolve one line of a batch; the answer is one line of JSON."""
        try:
            query = self._query(text, strict=False)
        except EarlyResponse as declined:
            answer = declined.answer
        else:
            resolution = await self._answers.resolve(query, policy)
            answer = self._answers.described(resolution, vary=VARY)
        return row(text, answer)

    def _wishes(
        self, call: ClientRequest, parameters: Mapping[str, str]
    ) -> tuple[Preferences, Sequence[str]]:
        try:
            policy, applied = preferences_from(
                parameters, call.header("Prefer"), call.header("Cache-Control")
            )
            if "archives" in parameters:
                check_archives(policy, self._registry)
        except ValueError as error:
            raise EarlyResponse(problem(400, "bad-parameter", str(error))) from error
        return policy, applied

    def _query(self, text: str, *, strict: bool) -> Query:
        try:
            reading = parse(text, self._registry, strict=strict)
            if reading.scheme == "tdb":
                raise EarlyResponse(self._document(str(reading.identifier.canonical)))
            return query_for(reading, self._registry)
        except Malformed as complaint:
            raise EarlyResponse(unreadable(complaint, text)) from complaint
        except NotNegotiable as error:
            raise EarlyResponse(not_negotiable(error)) from error

    def _document(self, canonical: str) -> Response:
        """Point to the document that describes the thing of a ``tdb`` (D-8)."""
        duri = "duri" + canonical.removeprefix("tdb")
        return Response(
            303, {"Location": f"{self._answers.base_url}/resolve/{duri}", "Vary": VARY}
        )


def row(text: str, answer: Response) -> bytes:
    """Write *answer* as the line of a batch for the input *text*."""
    told = json.loads(answer.body) if answer.body else {}
    return json.dumps({"input": text, "status": answer.status, **told}).encode() + b"\n"


def _is_strict(prefer: str) -> bool:
    """Whether the client wants what is wrong refused, not repaired (RFC 7240 4.4)."""
    wishes = (wish.partition(";")[0].replace(" ", "").lower() for wish in prefer.split(","))
    return "handling=strict" in wishes


def _manner(parameters: Mapping[str, str], accept: str) -> str:
    """Return how to answer: json, html or redirect. Raises Declined."""
    wanted = parameters.get("as")
    if wanted in _MANNERS:
        return wanted
    if wanted is not None:
        # It may be the URL's own: only what stands behind the last ? is taken for ours.
        why = f"as must be {' or '.join(_MANNERS)}; is it the URL's own, add ?as=redirect"
        raise EarlyResponse(problem(400, "bad-parameter", why))
    if "application/json" in accept:
        return "json"
    return "html" if "text/html" in accept else "redirect"
