"""The append-only ledger: a base class for recorded rows, one sha256 chain per stream, database triggers.

``record`` and ``record_all`` write rows and chain them; ``verify`` walks the chains. Nothing else writes.
"""
