"""plotly.js as the installed Python package ships it: no copy in the repository, no foreign host."""

from __future__ import annotations

from pathlib import Path

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

NAME = "plotly.min.js"


class PlotlyFinder(BaseFinder):
    """Offers exactly one file, ``plotly.min.js``, out of the package's data folder."""

    def __init__(self, app_names=None, *args, **kwargs) -> None:
        self.storage = FileSystemStorage(location=Path(plotly.__file__).parent / "package_data")
        super().__init__(*args, **kwargs)

    def check(self, **kwargs):
        return []

    def find(self, path, find_all=False, **kwargs):
        if path != NAME:
            return []
        found = self.storage.path(NAME)
        return [found] if find_all else found

    def list(self, ignore_patterns):
        yield NAME, self.storage
