"""Lists of the forge, page by page, each asked for only if it changed.

Every page is kept as soon as it has come. After a cut, a limit or a lost worker the next sync asks for the
same pages with their tags: those that came before are answered with 304, which costs nothing of the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.utils import timezone

from admission.models.sync import Followed, ForgeAnswer
from admission.sync.errors import ForgeTrouble
from admission.sync.forge import Forge

MAX_PAGES = 2_000
MAX_URL = 500


class Answers:
    """Reads of one followed thing."""

    def __init__(self, forge: Forge, followed: Followed) -> None:
        self.forge = forge
        self.followed = followed

    def page(self, path: str, *, what: str) -> str:
        """What is at ``path`` of the API (or at a whole address of it)."""
        page, _ = self._page(path if "://" in path else self.forge.url(path), what)
        return page

    def pages(self, path: str, *, what: str) -> Iterator[str]:
        """Every page of the list at ``path``."""
        url = self.forge.url(path)
        seen: set[str] = set()
        while url:
            if url in seen or len(seen) == MAX_PAGES:
                raise ForgeTrouble(f"The pages of {what} on {self.forge.host} come to no end.")
            seen.add(url)
            page, url = self._page(url, what)
            yield page

    def _page(self, url: str, what: str) -> tuple[str, str]:
        kept = ForgeAnswer.objects.filter(followed=self.followed, url=url).first()
        answer = self.forge.get(url, kept.etag if kept else "", what=what)
        if answer.text is None:
            if kept is None:
                raise ForgeTrouble(
                    f"{self.forge.host} says that {what} did not change, but it is not known here."
                )
            return kept.text, kept.next_url
        if max(len(url), len(answer.next_url)) > MAX_URL:
            raise ForgeTrouble(f"{self.forge.host} gave an address that is too long for {what}.")
        ForgeAnswer.objects.update_or_create(
            followed=self.followed,
            url=url,
            defaults={
                # A tag that does not fit is no tag: then the page is simply asked for again.
                "etag": answer.etag if len(answer.etag) <= 300 else "",
                "next_url": answer.next_url,
                # PostgreSQL holds no NUL; within JSON it is written as an escape anyway.
                "text": answer.text.replace("\x00", ""),
                "fetched_at": timezone.now(),
            },
        )
        return answer.text, answer.next_url
