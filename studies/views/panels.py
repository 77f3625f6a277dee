"""A study's panel, or in words why there is none yet."""

from __future__ import annotations

import datetime as dt

from studies.estimation.errors import EstimationError
from studies.models import Study
from studies.services.errors import ServiceError
from studies.services.panel import Panel, load_panel


def panel_or_problem(study: Study, as_of: dt.datetime | None = None) -> tuple[Panel | None, str]:
    """The panel and an empty text; or None and what is missing in a study that is still being written."""
    try:
        return load_panel(study, as_of), ""
    except (ServiceError, EstimationError) as error:
        return None, str(error)
