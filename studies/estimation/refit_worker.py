"""Refit in a process of its own: one JSON object on standard input, one on standard output.

    python -m studies.estimation.refit_worker < payload.json > result.json

It needs numpy, scipy, scikit-learn and threadpoolctl only, so it also runs in an environment with the
versions that a study recorded. Exit status 0 with a result; 2 with the reason on standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from studies.estimation.errors import EstimationError
from studies.estimation.numerics import numerical_environment
from studies.estimation.payload import from_payload
from studies.estimation.study import fit_final, retrospective


def refit(payload: Mapping[str, Any], starting: Callable[[str], None] = lambda part: None) -> dict[str, Any]:
    """Folds, final fit and predictions for a payload, with the versions that computed them.

    Args:
        starting: is told each held-out family before its fit, then ``final``.

    Raises:
        EstimationError: a payload that can't be read, or whatever a fit refuses.
    """
    pool, rules, targets = from_payload(payload)
    folds = retrospective(pool, rules, starting)
    starting("final")
    final = fit_final(pool, rules, targets)
    return {
        "retrospective": folds,
        "fitted_model": final.model_record(),
        "predictions": [prediction.to_record() for prediction in final.predictions],
        "numerical_environment": numerical_environment(),
    }


def main(source: TextIO, sink: TextIO, complaints: TextIO) -> int:
    """Run one refit and return the exit status."""
    try:
        result = refit(json.load(source))
    except json.JSONDecodeError as error:
        complaints.write(f"refit payload: not JSON, {error}\n")
        return 2
    except EstimationError as error:
        complaints.write(f"{error}\n")
        return 2
    json.dump(result, sink, allow_nan=False)
    sink.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.stdin, sys.stdout, sys.stderr))
