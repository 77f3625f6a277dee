from rlvram_site.ledger.models import LedgerEntry, LedgerStream

__all__ = ["LedgerEntry", "LedgerStream"]
