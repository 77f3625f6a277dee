from rlvram_site.api.keys import ApiKey, ApiKeyRevocation, ApiKeyUse
from rlvram_site.ledger.models import LedgerEntry, LedgerStream

__all__ = ["ApiKey", "ApiKeyRevocation", "ApiKeyUse", "LedgerEntry", "LedgerStream"]
