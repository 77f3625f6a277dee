"""Who is on the staff. What a role may do in detail is in ``api.permissions``."""

from __future__ import annotations

from typing import Any


def is_staff(user: Any) -> bool:
    """Whether somebody is an active member of the staff, who may record by hand."""
    return bool(user.is_authenticated and user.is_active and user.is_staff)
