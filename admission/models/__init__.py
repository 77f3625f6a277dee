"""What is recorded about tracked issues, append-only. What holds is derived in ``admission.services``.

``issues``    tracked issues, versions of their text, the thread's items and their number, events
``claims``    status updates, corrections and withdrawals, open questions, related issues
``changes``   pull requests, their heads, reviews
``evidence``  receipts, witnesses, measurements, recorded replays
``sync``      what is followed on a forge; no records
``proposals`` what the text suggests recording, and what a reviewer decided about it
"""

from admission.models.changes import Change, ChangeHead, Review
from admission.models.claims import Correction, OpenQuestion, QuestionMention, RelatedIssue, StatusUpdate
from admission.models.evidence import Measurement, Receipt, RecordedReplay, Witness
from admission.models.issues import IssueEvent, IssueVersion, ThreadCount, ThreadItem, TrackedIssue
from admission.models.proposals import Proposal, ProposalDecision
from admission.models.sync import Followed, ForgeAnswer, HookDelivery

__all__ = [
    "Change",
    "ChangeHead",
    "Correction",
    "Followed",
    "ForgeAnswer",
    "HookDelivery",
    "IssueEvent",
    "IssueVersion",
    "Measurement",
    "OpenQuestion",
    "Proposal",
    "ProposalDecision",
    "QuestionMention",
    "Receipt",
    "RecordedReplay",
    "RelatedIssue",
    "Review",
    "StatusUpdate",
    "ThreadCount",
    "ThreadItem",
    "TrackedIssue",
    "Witness",
]
