"""The error that services raise for what a person asked and the rules do not allow."""

from __future__ import annotations


class ServiceError(Exception):
    """Something that cannot be done with what is recorded; the text says what and why, for a person."""
