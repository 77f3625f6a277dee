"""The methods of a study, found by looking into this folder.

A new method is one new file here: a subclass of `Method` that names itself, its place in the tables and
the protocol key that calls for it. Nothing else has to be edited.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from studies.estimation.errors import EstimationError
from studies.estimation.methods.base import Method, Prediction

__all__ = ["Method", "Prediction", "method_class", "method_classes"]


@cache
def method_classes() -> tuple[type[Method], ...]:
    """All methods in this folder, in the order in which the tables show them.

    Raises:
        EstimationError: two methods with one name.
    """
    modules = [importlib.import_module(f"{__name__}.{item.name}") for item in pkgutil.iter_modules(__path__)]
    found = sorted(
        (
            item
            for module in modules
            for item in vars(module).values()
            if isinstance(item, type)
            and issubclass(item, Method)
            and item.__module__ == module.__name__
            and item is not Method
        ),
        key=lambda method: (method.order, method.name),
    )
    names = [method.name for method in found]
    for name in names:
        if names.count(name) > 1:
            raise EstimationError("methods", "name", name, "each name once")
    return tuple(found)


def method_class(name: str) -> type[Method]:
    """The method called `name`.

    Raises:
        EstimationError: no such method.
    """
    for method in method_classes():
        if method.name == name:
            return method
    raise EstimationError(
        "methods", "name", name, "one of " + ", ".join(item.name for item in method_classes())
    )
