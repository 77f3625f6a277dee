"""Leave one architecture family out: fit on all others, test on this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from studies.estimation.errors import EstimationError
from studies.estimation.pool import Pool


@dataclass(frozen=True)
class Fold:
    """One held-out family.

    Attributes:
        family: the family held out.
        fitting: configurations of every other family.
        test: configurations of this family. Methods see them as targets only.
    """

    family: str
    fitting: Pool
    test: Pool


def leave_family_out(pool: Pool) -> Iterator[Fold]:
    """One fold for each family of the pool, by family name.

    Raises:
        EstimationError: fewer than two families, so that nothing is left to fit.
    """
    families = pool.families
    if len(families) < 2:
        raise EstimationError("fitting pool", "families", families, "at least two families")
    for family in families:
        yield Fold(family, pool.without_family(family), pool.only_family(family))
