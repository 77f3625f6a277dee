from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, ApiKeyUse
from rlvram_site.ledger.models import LedgerCheck, LedgerEntry, LedgerStream
from rlvram_site.logins.resets import SecondStepReset
from rlvram_site.owners import OwnerGrant, OwnerGrantEnd
from rlvram_site.saved_views import SavedView

__all__ = [
    "ApiKey", "ApiKeyRevocation", "ApiKeyUse", "LedgerCheck", "LedgerEntry", "LedgerStream", "OwnerGrant",
    "OwnerGrantEnd", "SavedView", "SecondStepReset",
]  # fmt: skip
