from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, ApiKeyUse
from rlvram_site.ledger.models import LedgerCheck, LedgerEntry, LedgerStream
from rlvram_site.logins.resets import SecondStepReset

__all__ = [
    "ApiKey", "ApiKeyRevocation", "ApiKeyUse", "LedgerCheck", "LedgerEntry", "LedgerStream",
    "SecondStepReset",
]  # fmt: skip
