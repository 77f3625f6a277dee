"""What witnesses have said, recorded in a stream of its own, and what is still to be asked again."""

from __future__ import annotations

from django.db import models

from rlvram_site.ledger.models import LedgerRecord

STREAM = "witness/site"


class Witnessed(LedgerRecord):
    """A row of the witness stream about ends of other streams.

    ``covers`` is a list of ``{"stream", "sequence", "sha256"}``. What is stamped or signed is its canonical
    JSON, as of every digest of the ledger.
    """

    covers = models.JSONField(help_text="Links that it speaks of: stream, sequence, sha256")

    class Meta:
        abstract = True

    def ledger_stream(self) -> str:
        return STREAM


class TimeStamp(Witnessed):
    """An answer of a time-stamping authority (RFC 3161), checked before it was recorded."""

    class About(models.TextChoices):
        SEAL = "seal", "a seal"
        HEADS = "heads", "the ends of all streams"

    about = models.CharField(max_length=5, choices=About.choices)
    record_id = models.BigIntegerField(null=True, blank=True, db_index=True, help_text="Key of the seal")
    authority = models.CharField(max_length=300, help_text="Address that was asked")
    signer = models.CharField(max_length=500, help_text="Subject of the certificate that signed")
    stamped_at = models.DateTimeField(help_text="The authority's own time")
    response = models.TextField(help_text="The whole answer, DER in base64")
    chain = models.TextField(help_text="Certificates against which it was checked, PEM")

    class Meta:
        ordering = ["pk"]
        verbose_name = "time stamp"

    def __str__(self) -> str:
        return f"{self.get_about_display()}, stamped {self.stamped_at:%Y-%m-%d %H:%M:%S} UTC"


class SigningKey(LedgerRecord):
    """A public key with which this site signs from here on. The row after it ends its time."""

    public_key = models.TextField(help_text="Ed25519, PEM")

    class Meta:
        ordering = ["pk"]
        verbose_name = "signing key"

    def __str__(self) -> str:
        return f"key {self.pk}"

    def ledger_stream(self) -> str:
        return STREAM


class HeadSignature(Witnessed):
    """The ends of all streams, signed by the site."""

    key = models.ForeignKey(SigningKey, on_delete=models.PROTECT, related_name="signatures")
    signature = models.CharField(max_length=88, help_text="Ed25519, base64")

    class Meta:
        ordering = ["pk"]
        verbose_name = "signature of heads"
        verbose_name_plural = "signatures of heads"

    def __str__(self) -> str:
        return f"{len(self.covers)} heads, signed {self.recorded_at:%Y-%m-%d %H:%M:%S} UTC"


class StampProblem(models.Model):
    """Why something has no stamp yet. Not a record: it goes once the stamp is there."""

    about = models.CharField(max_length=5, choices=TimeStamp.About.choices)
    record_id = models.BigIntegerField(null=True)
    problem = models.CharField(max_length=500)
    tries = models.PositiveIntegerField(default=0)
    tried_at = models.DateTimeField()
    again_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.about} {self.record_id or ''}: {self.problem}"
