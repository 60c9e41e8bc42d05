"""Pages that show a resolution: how the copy differs, and what each archive holds."""

from collections.abc import Sequence

from archives.registry import Registry
from timegate.pages.rendering import HEADERS, Pages
from timegate.resolution.model import Resolution
from timegate.responses.answer_view import answer_view
from timegate.responses.answers import Answers
from timegate.responses.model import Response
from timegate.verdict import satisfies, verdict


class AnswerPages:
    """Writes the pages for browsers, where programs get a redirect or a report."""

    def __init__(self, answers: Answers, registry: Registry, pages: Pages) -> None:
        self._answers = answers
        self._registry = registry
        self._pages = pages

    def shown(
        self, resolution: Resolution, applied: Sequence[str] = (), *, vary: str, always: bool
    ) -> Response:
        """Redirect to a copy that is what was asked for; otherwise show how it differs.

        *always* shows the page in any case.
        """
        judged = verdict(resolution, self._registry)
        good = judged.match.value in ("exact", "within") and not always
        if good or resolution.memento is None or not satisfies(resolution, judged):
            return self._answers.redirect(resolution, applied, vary=vary)
        headers = self._answers.headers(resolution, judged, applied, vary) | HEADERS
        view = answer_view(resolution, judged, self._registry)
        page = self._pages.written("reference", answer=view)
        return Response(200, headers, page.encode())

    def listed(self, resolution: Resolution) -> bytes:
        """Write the page that lists what each archive holds, the nearest first."""
        judged = verdict(resolution, self._registry)
        view = answer_view(resolution, judged, self._registry)
        return self._pages.written("list", answer=view).encode()
