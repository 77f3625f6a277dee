"""A refit under exactly the library versions that an archive's own fit records."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from studies.archive.documents import Root
from studies.archive.environment import recorded_python, recorded_versions, refit_in
from studies.archive.layout import LAYOUTS, Layout
from studies.archive.verification import Refit


def recorded_refit(root: Root, layout: Layout, *, data_dir: Path, source: Path) -> Refit:
    """The refit of a study, or of the parent it inherits from; makes the environment below ``data_dir``.

    ``source`` is the project's root. Raises ``ArchiveError`` when the versions are not stated or cannot be
    installed.
    """
    fitting = LAYOUTS[layout.parent] if layout.parent else layout
    path = fitting.path("fitted_model.json")
    environment = root.document(path).get("numerical_environment")
    versions = recorded_versions(environment if isinstance(environment, dict) else {}, path)
    return partial(refit_in, recorded_python(versions, data_dir), source=source)
