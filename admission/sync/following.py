"""What is followed, when it is due, and one sync of it.

A sync is claimed by one UPDATE that succeeds only while nobody else holds it; a worker that is lost loses it
when its lease ends. Reading twice would do no harm either: what is recorded already is recognised.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from admission.models import TrackedIssue
from admission.models.sync import Followed
from admission.services.identity import known_issue
from admission.sync.addresses import Address, parse_address
from admission.sync.answers import Answers
from admission.sync.errors import ForgeTrouble, SyncError
from admission.sync.fetching import PER_PAGE, Fetched, Step, fetch_issue, last_update, listed
from admission.sync.forge import Forge, forge_host
from admission.sync.recording import Recorded, known_pulls, record_fetched
from admission.thread.reading import ExportError
from rlvram_site.ledger.chain import acting, current_actor

LEASE = dt.timedelta(minutes=10)
LONGEST_WAIT = dt.timedelta(days=1)
ACTOR = "forge sync"


def address_here(text: str) -> Address:
    """What ``text`` names on this site's forge. Raises ``NotFollowable``."""
    return parse_address(text, forge_host())


def address_of(followed: Followed) -> Address:
    return Address(followed.host, followed.owner, followed.name, followed.number)


def find(address: Address) -> Followed | None:
    """The row of an address; GitHub's names do not distinguish case."""
    return Followed.objects.filter(
        host=address.host, owner__iexact=address.owner, name__iexact=address.name, number=address.number
    ).first()


def follow(address: Address, *, by: str = "", label: str = "", parent: Followed | None = None) -> Followed:
    """Follow ``address`` from now on. Following again ends a pause and makes it due."""
    found = find(address)
    if found is None:
        try:
            with transaction.atomic():
                return Followed.objects.create(
                    host=address.host, owner=address.owner, name=address.name, number=address.number,
                    label=label, created_by=(by or current_actor())[:200], parent=parent,
                    issue=_tracked(address),
                )  # fmt: skip
        except IntegrityError:  # somebody else was faster by a moment
            found = find(address)
            assert found is not None
    if parent is None:
        found.paused, found.due_at, found.parent = False, timezone.now(), None
        found.label = label or found.label
        found.save(update_fields=["paused", "due_at", "parent", "label"])
    return found


def _tracked(address: Address) -> TrackedIssue | None:
    if not address.number:
        return None
    return known_issue(address.owner, address.name, address.number, address.host)


def pause(followed: Followed) -> None:
    """Read it no more until somebody resumes it. Of a repository, its issues pause with it."""
    Followed.objects.filter(Q(pk=followed.pk) | Q(parent=followed)).update(paused=True)


def resume(followed: Followed) -> None:
    """Read it again from now on."""
    Followed.objects.filter(Q(pk=followed.pk) | Q(parent=followed)).update(
        paused=False, due_at=timezone.now()
    )


def unfollow(followed: Followed) -> None:
    """Forget that it is followed, and the pages kept for it. What was recorded stays for good."""
    Followed.objects.filter(Q(pk=followed.pk) | Q(parent=followed)).delete()


def due() -> QuerySet[Followed]:
    """What is to be read now, the longest overdue first."""
    now = timezone.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    return Followed.objects.filter(free, paused=False, due_at__lte=now).order_by("due_at", "pk")


def claim(followed: Followed) -> bool:
    """Take it, unless somebody else has."""
    now = timezone.now()
    free = Followed.objects.filter(Q(lease_until=None) | Q(lease_until__lt=now), pk=followed.pk)
    return bool(free.update(lease_until=now + LEASE))


def _every(followed: Followed) -> dt.timedelta:
    """How long until it is read again. The list of a followed repository finds its issues sooner."""
    if followed.parent_id is not None:
        return LONGEST_WAIT
    return dt.timedelta(seconds=settings.FORGE_SYNC_SECONDS or LONGEST_WAIT.total_seconds())


def note_failure(followed: Followed, problem: str, again_at: dt.datetime | None = None) -> None:
    """Keep why it failed, and try again later: at the forge's own time, else after a wait that doubles."""
    failures = followed.failures + 1
    wait = min(_every(followed) * 2 ** min(failures - 1, 10), LONGEST_WAIT)
    Followed.objects.filter(pk=followed.pk).update(
        problem=problem[:500], failures=failures, due_at=again_at or timezone.now() + wait, lease_until=None
    )
    if again_at is not None:
        # The limit is the forge's, not one issue's.
        Followed.objects.filter(host=followed.host, due_at__lt=again_at).update(due_at=again_at)


def note_success(
    followed: Followed, sentence: str, sha256: str = "", issue: TrackedIssue | None = None
) -> None:
    """Keep what was found, and when it is to be read again."""
    now = timezone.now()
    Followed.objects.filter(pk=followed.pk).update(
        problem="", failures=0, synced_at=now, sentence=sentence[:300], due_at=now + _every(followed),
        lease_until=None, content_sha256=sha256, issue=issue or followed.issue,
    )  # fmt: skip


def _step_for(followed: Followed, step: Step) -> Step:
    """``step`` that keeps the lease as well."""

    def stepped(done: int, total: int, sentence: str) -> None:
        Followed.objects.filter(pk=followed.pk).update(lease_until=timezone.now() + LEASE)
        step(done, total, sentence)

    return stepped


def quiet(done: int, total: int, sentence: str) -> None:
    """A step that nobody is told about."""


def fetch(followed: Followed, forge: Forge, step: Step = quiet) -> Fetched:
    """Read one issue; nothing is recorded yet. Raises a ``SyncError``, or ``ExportError``."""
    if forge.host != followed.host:
        raise ForgeTrouble(f"{followed} lies on {followed.host}, while this site now follows {forge.host}.")
    answers = Answers(forge, followed)
    return fetch_issue(answers, address_of(followed), known_pulls, _step_for(followed, step))


def record(followed: Followed, fetched: Fetched) -> Recorded:
    """Record what was read, and that it was. Raises ``ExportError``."""
    exported = fetched.exported
    here = (exported.owner.lower(), exported.name.lower(), exported.number)
    moved = here != (followed.owner.lower(), followed.name.lower(), followed.number)
    # The forge sent us on from the address that is followed: it is the same issue in another place.
    recorded = record_fetched(fetched, known_as=followed.issue if moved else None)
    note_success(followed, recorded.sentence, fetched.sha256, recorded.issue)
    return recorded


def read_repository(followed: Followed, forge: Forge, step: Step = quiet) -> str:
    """Find the issues of a repository that changed, and make them due. Returns a sentence.

    What was found stays found when the next page cannot be read: the cursor moves page by page.
    """
    step, answers = _step_for(followed, step), Answers(forge, followed)
    found = 0
    wanted = {"state": "all", "sort": "updated", "direction": "asc", "per_page": PER_PAGE}
    query = urlencode(
        wanted | {k: v for k, v in (("labels", followed.label), ("since", followed.cursor)) if v}
    )
    what = f"the issues of {followed.owner}/{followed.name}"
    for number, page in enumerate(
        answers.pages(f"repos/{followed.owner}/{followed.name}/issues?{query}", what=what), 1
    ):
        for one in listed(page, what):
            address = Address(followed.host, followed.owner, followed.name, one.number)
            child = follow(address, by=followed.created_by, parent=followed)
            if child.cursor != one.updated:
                found += 1
                Followed.objects.filter(pk=child.pk).update(cursor=one.updated[:40], due_at=timezone.now())
        cursor = last_update(page) or followed.cursor
        Followed.objects.filter(pk=followed.pk).update(cursor=cursor[:40])
        step(number, number + 1, f"{found} issues changed on {number} page{'s' if number > 1 else ''}")
    moved = Followed.objects.values_list("cursor", flat=True).get(pk=followed.pk)
    if moved != followed.cursor:
        # The next list begins elsewhere, so these pages are not asked for again.
        followed.answers.all().delete()
    return f"{followed}: {found} changed issue{'' if found == 1 else 's'} found."


def sync(followed: Followed, forge: Forge, step: Step = quiet) -> str:
    """Read one followed thing and record what is new. Returns a sentence.

    What goes wrong is kept in its row and raised: a ``SyncError``, ``ExportError`` or ``ValidationError``.
    """
    try:
        with acting(ACTOR if current_actor() == "system" else current_actor()):
            if not followed.number:
                sentence = read_repository(followed, forge, step)
                note_success(followed, sentence)
                return sentence
            fetched = fetch(followed, forge, step)
            if fetched.sha256 == followed.content_sha256:
                sentence = f"{followed}: nothing new."
                note_success(followed, sentence, fetched.sha256)
                return sentence
            return record(followed, fetched).sentence
    except (SyncError, ExportError, ValidationError) as error:
        problem = words_of(error)
        note_failure(followed, problem, getattr(error, "again_at", None))
        raise


def words_of(error: Exception) -> str:
    """Why a sync failed, for a person."""
    return "; ".join(error.messages) if isinstance(error, ValidationError) else str(error)


def sync_due(
    forge: Forge, *, seconds: float = float("inf"), said: Callable[[str], None] = lambda line: None
) -> int:
    """Read everything that is due, for at most about ``seconds``. Returns how many failed."""
    end, failed = time.monotonic() + seconds, 0
    tried: set[int] = set()
    with forge.connected():
        while time.monotonic() < end:
            followed = due().exclude(pk__in=tried).first()
            if followed is None:
                break
            tried.add(followed.pk)
            if not claim(followed):
                continue
            try:
                said(sync(followed, forge))
            except (SyncError, ExportError, ValidationError) as error:
                failed += 1
                said(f"{followed}: {words_of(error)}")
                if getattr(error, "again_at", None) is not None:
                    break
    return failed
