"""What is recorded about tracked issues, append-only. What holds is derived in ``admission.services``.

``issues``    tracked issues, their addresses, versions of their text, the thread's items, events
``claims``    status updates, corrections and withdrawals, later facts, open questions, related issues
``changes``   pull requests, their heads, reviews
``evidence``  receipts, witnesses, measurements, recorded replays
``sync``      what is followed on a forge; no records
``proposals`` what the text suggests recording, and what a reviewer decided about it
``summaries`` what lists of issues search and sort by; derived and no record
"""

from admission.models.changes import Change, ChangeHead, Review
from admission.models.claims import (
    Correction,
    LaterFact,
    OpenQuestion,
    QuestionMention,
    RelatedIssue,
    StatusUpdate,
)
from admission.models.evidence import Measurement, Receipt, RecordedReplay, Witness
from admission.models.issues import (
    IssueAddress,
    IssueEvent,
    IssueVersion,
    ThreadCount,
    ThreadItem,
    TrackedIssue,
)
from admission.models.proposals import Proposal, ProposalDecision
from admission.models.summaries import IssueSummary
from admission.models.sync import Followed, ForgeAnswer, HookDelivery

__all__ = [
    "Change",
    "ChangeHead",
    "Correction",
    "Followed",
    "ForgeAnswer",
    "HookDelivery",
    "IssueAddress",
    "IssueEvent",
    "IssueSummary",
    "IssueVersion",
    "LaterFact",
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
