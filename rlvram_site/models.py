from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, ApiKeyUse
from rlvram_site.ledger.models import LedgerCheck, LedgerEntry, LedgerStream
from rlvram_site.logins.resets import SecondStepReset
from rlvram_site.owners import OwnerGrant, OwnerGrantEnd
from rlvram_site.saved_views import SavedView
from rlvram_site.witness.models import HeadSignature, SigningKey, StampProblem, TimeStamp

__all__ = [
    "ApiKey", "ApiKeyRevocation", "ApiKeyUse", "HeadSignature", "LedgerCheck", "LedgerEntry", "LedgerStream",
    "OwnerGrant", "OwnerGrantEnd", "SavedView", "SecondStepReset", "SigningKey", "StampProblem", "TimeStamp",
]  # fmt: skip
