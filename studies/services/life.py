"""How far a study has come: draft, frozen, sealed, executing, closed. Derived from its records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from studies.models import SeedSlot, Study
from studies.models.projections import SlotProjection
from studies.services.outcomes.slots import slot_states


class Stage(StrEnum):
    """Where a study is in its life."""

    DRAFT = "draft"
    FROZEN = "frozen"
    SEALED = "sealed"
    EXECUTING = "executing"
    CLOSED = "closed"


SENTENCES = {
    Stage.DRAFT: "its plan can still be changed",
    Stage.FROZEN: "its protocol is fixed and changes by amendments alone; nothing is sealed yet",
    Stage.SEALED: "predictions are sealed and nothing has been launched",
    Stage.EXECUTING: "slots are being launched, and at least one more attempt may count",
    Stage.CLOSED: "no further attempt of a planned slot may count",
}


@dataclass(frozen=True)
class Life:
    """A study's stage, and whether it was launched without a seal."""

    stage: Stage
    unsealed: bool

    @property
    def sentence(self) -> str:
        """What the stage means, for a person."""
        late = "; it was launched without a seal" if self.unsealed else ""
        return f"{SENTENCES[self.stage]}{late}"


def life(study: Study) -> Life:
    """The study's stage.

    Raises ``EstimationError`` for a protocol whose rule of retries can't be read.
    """
    sealed = study.seals.exists()
    if not study.protocols.exists():
        return Life(Stage.DRAFT, unsealed=False)
    if not study.attempts.exists() and not study.nonlaunchs.exists():
        return Life(Stage.SEALED if sealed else Stage.FROZEN, unsealed=False)
    return Life(Stage.EXECUTING if _is_open(study) else Stage.CLOSED, unsealed=not sealed)


def _is_open(study: Study) -> bool:
    """Whether one more attempt of any planned slot may count."""
    known = SlotProjection.objects.filter(study=study)
    if known.exists():
        return known.filter(one_more_may_count=True).exists()
    # Nothing is projected where no rules can be read; this says why.
    return any(
        state.one_more_may_count for state in slot_states(SeedSlot.objects.filter(study=study)).values()
    )
