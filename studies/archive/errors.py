"""The one error of this package."""

from __future__ import annotations


class ArchiveError(Exception):
    """Something in an archive or bundle that cannot be taken: its place and what was expected."""
