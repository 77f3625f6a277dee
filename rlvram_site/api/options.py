"""What OPTIONS says beside the header ``Allow``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.metadata import BaseMetadata

if TYPE_CHECKING:  # the views themselves import this module, through the settings
    from rest_framework.request import Request
    from rest_framework.views import APIView


class AllowedMethods(BaseMetadata):
    """The methods of an address, and nothing that would take a query."""

    def determine_metadata(self, request: Request, view: APIView) -> dict[str, list[str]]:
        return {"allow": sorted(view.allowed_methods)}
