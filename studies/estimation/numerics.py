"""One numerical thread, finite results, and the versions that produced them."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.estimation.errors import EstimationError
from studies.estimation.fields import is_finite_number

FIT_THREADS = 1
"""Threads that a fit may use in each numerical library."""

THREAD_VARIABLES = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@cache
def _controller() -> Any:
    # The controller knows only libraries that are loaded when it is made, and looking for them takes
    # longer than a fit. So both numerical libraries are loaded first and the controller is kept.
    import scipy.optimize  # noqa: F401
    import sklearn.linear_model  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Limit every numerical library to one thread inside the `with` block."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=FIT_THREADS)
    return limit


def numerical_environment() -> dict[str, Any]:
    """Versions, platform and thread pools of this process, under the archive's key names.

    The place of a library on the disk is left out: it says nothing about a result.
    """
    import scipy
    import sklearn

    with one_thread():
        pools = [
            {key: value for key, value in pool.items() if key != "filepath"} for pool in _controller().info()
        ]
    return {
        "fit_thread_limit": FIT_THREADS,
        "numpy": np.__version__,
        "platform": platform.platform(),
        "python": platform.python_version(),
        "scikit_learn": sklearn.__version__,
        "scipy": scipy.__version__,
        "thread_environment": {name: os.environ.get(name) for name in THREAD_VARIABLES},
        "threadpools": pools,
    }


def require_finite(values: NDArray[np.float64], offender: str, field: str) -> NDArray[np.float64]:
    """`values` unchanged.

    Raises:
        EstimationError: one of them is not finite.
    """
    if not np.isfinite(values).all():
        raise EstimationError(offender, field, values.tolist(), "finite numbers")
    return values


def read_vector(value: object, length: int, offender: str, field: str) -> NDArray[np.float64]:
    """A recorded list of `length` finite numbers as float64.

    Raises:
        EstimationError: another length or another kind of item.
    """
    if (
        not isinstance(value, Sequence)
        or len(value) != length
        or not all(is_finite_number(item) for item in value)
    ):
        raise EstimationError(offender, field, value, f"{length} finite numbers")
    return np.array(value, dtype=np.float64)
