"""What is recorded about studies. Every table is append-only but those of ``hosts``, ``jobs``,
``projections``, ``stored`` and ``study_drafts``.

What holds now is derived in ``studies.services``.

``plan``      pools, studies, protocols, amendments, architectures, configurations, slots
``outcomes``  attempts, exclusions, slots that were never launched, events, costs
``evidence``  files that an invocation left behind
``predictions`` fitted models, prediction sets, predictions, seals, evaluations
``refusals``  what somebody tried to change after the fact
``sources``   the documents behind all of it and their hashes
``hosts``     machines with devices, as they last described themselves
``projections`` the present state, derived from all of it and never recorded
``jobs``      work that workers do: rows that change, their history and results
``stored``    what is remembered of stored evidence: states, what is on its way, limits
``study_drafts`` studies that somebody is still writing
``transfer``  tasks and queries of a pool's transfer suite, submissions and their scores
"""

from studies.models.evidence import EvidenceBlob, EvidenceFile
from studies.models.hosts import Host
from studies.models.jobs import Job, JobEvent, JobResult
from studies.models.outcomes import Allocation, Attempt, CostTotal, Event, Exclusion, NonLaunch
from studies.models.plan import (
    Amendment,
    Configuration,
    ModelArchitecture,
    Pool,
    PoolOutcome,
    Protocol,
    SeedSlot,
    Study,
)
from studies.models.predictions import Evaluation, FittedModel, Prediction, PredictionSet, Seal
from studies.models.projections import (
    CellProjection,
    ConfigurationProjection,
    GroupCount,
    MethodTally,
    SlotProjection,
    StudyProjection,
)
from studies.models.refusals import Refusal
from studies.models.sources import SourceFile
from studies.models.stored import EvidenceQuota, PendingEvidence, StoredFile
from studies.models.study_drafts import DraftFile, StudyDraft
from studies.models.transfer import (
    TransferPredictions,
    TransferQuery,
    TransferScore,
    TransferSubmission,
    TransferTask,
)

__all__ = [
    "Allocation",
    "Amendment",
    "Attempt",
    "CellProjection",
    "Configuration",
    "ConfigurationProjection",
    "CostTotal",
    "DraftFile",
    "Evaluation",
    "Event",
    "EvidenceBlob",
    "EvidenceFile",
    "EvidenceQuota",
    "Exclusion",
    "FittedModel",
    "GroupCount",
    "Host",
    "Job",
    "JobEvent",
    "JobResult",
    "MethodTally",
    "ModelArchitecture",
    "NonLaunch",
    "PendingEvidence",
    "Pool",
    "PoolOutcome",
    "Prediction",
    "PredictionSet",
    "Protocol",
    "Refusal",
    "Seal",
    "SeedSlot",
    "SlotProjection",
    "SourceFile",
    "StoredFile",
    "Study",
    "StudyDraft",
    "StudyProjection",
    "TransferPredictions",
    "TransferQuery",
    "TransferScore",
    "TransferSubmission",
    "TransferTask",
]
