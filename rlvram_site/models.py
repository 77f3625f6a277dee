from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, ApiKeyUse
from rlvram_site.ledger.models import LedgerCheck, LedgerEntry, LedgerStream
from rlvram_site.logins.resets import SecondStepReset
from rlvram_site.owners import OwnerGrant, OwnerGrantEnd

__all__ = [
    "ApiKey", "ApiKeyRevocation", "ApiKeyUse", "LedgerCheck", "LedgerEntry", "LedgerStream", "OwnerGrant",
    "OwnerGrantEnd", "SecondStepReset",
]  # fmt: skip
