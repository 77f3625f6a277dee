"""What is recorded about studies. Every table is append-only but those of ``hosts``, ``jobs``, ``stored``
and ``study_drafts``.

What holds now is derived in ``studies.services``.

``plan``      pools, studies, protocols, amendments, architectures, configurations, slots
``outcomes``  attempts, exclusions, slots that were never launched, events, costs
``evidence``  files that an invocation left behind
``predictions`` fitted models, prediction sets, predictions, seals, evaluations
``sources``   the documents behind all of it and their hashes
``hosts``     machines with devices, as they last described themselves
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
    "Configuration",
    "CostTotal",
    "DraftFile",
    "Evaluation",
    "Event",
    "EvidenceBlob",
    "EvidenceFile",
    "EvidenceQuota",
    "Exclusion",
    "FittedModel",
    "Host",
    "Job",
    "JobEvent",
    "JobResult",
    "ModelArchitecture",
    "NonLaunch",
    "PendingEvidence",
    "Pool",
    "PoolOutcome",
    "Prediction",
    "PredictionSet",
    "Protocol",
    "Seal",
    "SeedSlot",
    "SourceFile",
    "StoredFile",
    "Study",
    "StudyDraft",
    "TransferPredictions",
    "TransferQuery",
    "TransferScore",
    "TransferSubmission",
    "TransferTask",
]
