"""API keys: hashed at rest, shown once, scoped to a study and to actions, revoked by a record of its own."""

from __future__ import annotations

import datetime as dt

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from rest_framework_api_key.crypto import KeyGenerator

from rlvram_site.ledger.chain import record
from rlvram_site.ledger.models import LedgerEntry, LedgerRecord

STREAM = "site/keys"
WARNED_BEFORE = dt.timedelta(days=14)
"""How long before its end a key says that it expires."""
_generator = KeyGenerator()


class Scope(models.TextChoices):
    """What a key or a role may do."""

    READ = "read", "read everything"
    STUDIES = "studies", "begin studies and add architectures to pools"
    PLAN = "plan", "add configurations and slots to a draft study"
    ATTEMPTS = "attempts", "add attempts and their evidence"
    DECLARE = "declare", "declare an outcome whose evidence can't be uploaded"
    EVALUATIONS = "evaluations", "record evaluations"
    WITNESSES = "witnesses", "add admission witnesses and observations"
    JOBS = "jobs", "start, retry and cancel jobs"
    HOSTS = "hosts", "register as a GPU host and run its jobs"
    EXCLUSIONS = "exclusions", "exclude attempts and lift exclusions"
    STATUS = "status", "post status updates, reviews and heads of tracked issues"


def _scopes_exist(value: object) -> None:
    if not isinstance(value, list) or not value:
        raise ValidationError(f"scopes: expected a list with at least one of {', '.join(Scope.values)}")
    unknown = [scope for scope in value if scope not in Scope.values]
    if unknown:
        raise ValidationError(f"scopes: {unknown[0]!r} is not one of {', '.join(Scope.values)}")


class ApiKey(LedgerRecord):
    """One key. Its secret is nowhere: only a prefix to find it by and a hash to check it with."""

    name = models.CharField(max_length=100, help_text="Which machine or job uses it")
    prefix = models.CharField(max_length=8, unique=True, editable=False)
    hashed_key = models.CharField(max_length=150, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="api_keys")
    study = models.ForeignKey(
        "studies.Study", null=True, blank=True, on_delete=models.PROTECT, related_name="api_keys",
        help_text="Empty: every study and tracked issue",
    )  # fmt: skip
    scopes = models.JSONField(validators=[_scopes_exist])
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-pk"]
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def ledger_stream(self) -> str:
        return STREAM

    @property
    def actor(self) -> str:
        """How the ledger names whoever uses this key."""
        return f"key {self.prefix} ({self.name})"

    def problem(self, now: dt.datetime | None = None) -> str:
        """Why the key can't be used now; empty when it can."""
        if hasattr(self, "revocation"):
            return (
                f"The key {self.prefix}… was revoked on {self.revocation.recorded_at:%Y-%m-%d %H:%M:%S} UTC."
            )
        if self.expires_at is not None and self.expires_at <= (now or timezone.now()):
            return f"The key {self.prefix}… expired on {self.expires_at:%Y-%m-%d %H:%M:%S} UTC."
        if not self.owner.is_active:
            return f"The owner of key {self.prefix}… is no longer active."
        return ""

    def ending(self, now: dt.datetime | None = None) -> str:
        """That the key expires soon; empty when it does not, or has already."""
        now = now or timezone.now()
        if self.expires_at is None or not now < self.expires_at <= now + WARNED_BEFORE:
            return ""
        return f"expires on {self.expires_at:%Y-%m-%d %H:%M:%S} UTC"

    def end_sentence(self, now: dt.datetime | None = None) -> str:
        """When the key ends, for whoever should see to it. Only for one that ends."""
        assert self.expires_at is not None
        word = "expires" if self.expires_at > (now or timezone.now()) else "expired"
        return f"The key {self.prefix}… ({self.name}) {word} on {self.expires_at:%Y-%m-%d %H:%M} UTC."


def ending_keys(owner_id: int | None = None) -> models.QuerySet[ApiKey]:
    """Keys, of one person or of all, that end within ``WARNED_BEFORE`` or ended as lately."""
    now = timezone.now()
    rows = ApiKey.objects.filter(
        revocation=None, owner__is_active=True, expires_at__range=(now - WARNED_BEFORE, now + WARNED_BEFORE)
    )
    if owner_id is not None:
        rows = rows.filter(owner=owner_id)
    return rows.select_related("owner").order_by("expires_at", "pk")


class ApiKeyRevocation(LedgerRecord):
    """A key is no longer valid, from when, and why. There is no way back: issue another key."""

    key = models.OneToOneField(ApiKey, on_delete=models.PROTECT, related_name="revocation")
    reason = models.CharField(max_length=300)

    class Meta:
        verbose_name = "API key revocation"

    def __str__(self) -> str:
        return f"revoked: {self.key}"

    def ledger_stream(self) -> str:
        return STREAM


class ApiKeyUse(models.Model):
    """When a key was last used, to the minute. The only thing about keys that changes."""

    RESOLUTION = dt.timedelta(minutes=1)

    key = models.OneToOneField(ApiKey, on_delete=models.PROTECT, related_name="use")
    last_used_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.key} last used {self.last_used_at:%Y-%m-%d %H:%M} UTC"


def issue_key(*, name: str, owner, scopes: list[str], study=None, expires_at=None) -> tuple[ApiKey, str]:
    """Record a new key; returns it with its secret, which can't be had again.

    Raises ``ValidationError`` for an unknown scope or an expiry in the past.
    """
    if expires_at is not None and expires_at <= timezone.now():
        raise ValidationError({"expires_at": f"{expires_at:%Y-%m-%d %H:%M:%S} UTC is in the past"})
    secret, prefix, hashed = _generator.generate()
    key = ApiKey(
        name=name, prefix=prefix, hashed_key=hashed, owner=owner, study=study, scopes=sorted(set(scopes)),
        expires_at=expires_at,
    )  # fmt: skip
    key.full_clean(exclude=["prefix", "hashed_key"])
    record(key)
    return key, secret


_NEEDED = (
    "name", "prefix", "hashed_key", "scopes", "study", "expires_at", "owner__username", "owner__is_active",
    "owner__is_staff", "revocation__key", "revocation__recorded_at", "use__key", "use__last_used_at",
)  # fmt: skip
"""What every request needs to know of its key; one is read for each of them."""


def find_key(secret: str) -> ApiKey | None:
    """The key that ``secret`` opens, valid or not; None when there is none."""
    prefix, _, rest = secret.partition(".")
    key = (
        ApiKey.objects.select_related("owner", "revocation", "use")
        .only(*_NEEDED)
        .filter(prefix=prefix)
        .first()
        if rest and len(prefix) <= 8
        else None
    )
    return key if key is not None and _generator.verify(secret, key.hashed_key) else None


def note_use(key: ApiKey) -> None:
    """Remember that ``key`` was used, at most once a minute, so that reading writes next to nothing."""
    now = timezone.now()
    use = getattr(key, "use", None)
    if use is None:
        ApiKeyUse.objects.update_or_create(key=key, defaults={"last_used_at": now})
    elif now - use.last_used_at >= ApiKeyUse.RESOLUTION:
        ApiKeyUse.objects.filter(pk=use.pk).update(last_used_at=now)


def keys_of(owner) -> list[tuple[ApiKey, str]]:
    """The keys in somebody's name that are not revoked, each with who issued it by the ledger."""
    keys = list(
        ApiKey.objects.filter(owner=owner.pk, revocation=None).select_related("owner", "study", "revocation")
    )
    links = LedgerEntry.objects.filter(
        record_type=ApiKey._meta.label_lower, record_id__in=[key.pk for key in keys]
    )
    issuers = dict(links.values_list("record_id", "actor"))
    return [(key, issuers.get(key.pk, "")) for key in keys]
