"""What refitting and predicting share: the fit itself, here or in the recorded environment."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings

from studies.archive.environment import recorded_python, refit_in
from studies.estimation.refit_worker import refit
from studies.jobs.work import Work
from studies.services.predictions.refits import library_versions, refit_payload

LIBRARIES = ("numpy", "scipy", "scikit-learn")


def versions_for(work: Work, *, recorded: bool) -> dict[str, str]:
    """The library versions that the fit will use; a result depends on them."""
    return library_versions(work.study) if recorded else {name: version(name) for name in LIBRARIES}


def fit(work: Work, *, recorded: bool, steps_after: int) -> dict[str, Any]:
    """Fit every fold and the final model. Takes seconds; a fresh recorded environment takes minutes once.

    ``steps_after`` is how many steps the job has left after the fit.
    """
    payload = refit_payload(work.study)
    if recorded:
        total = 2 + steps_after
        versions = library_versions(work.study)
        words = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
        work.step(0, total, f"making an environment with {words}")
        python = recorded_python(versions, Path(settings.DATA_DIR))
        work.step(1, total, "fitting in the recorded environment")
        result = refit_in(python, payload, Path(settings.BASE_DIR))
        work.step(2, total, "fitted in the recorded environment")
        return result
    family_of = {item["model_id"]: item["family"] for item in payload["architectures"]}
    families = {family_of[item["settings"]["model_id"]] for item in payload["pool"]}
    total = len(families) + 1 + steps_after
    done = 0

    def starting(part: str) -> None:
        nonlocal done
        what = "the final model" if part == "final" else f"without the family {part}"
        work.step(done, total, f"fitting {what}")
        done += 1

    result = refit(payload, starting)
    work.step(done, total, "fitted")
    return result
