"""What holds now about a study, derived from what is recorded. Pages, API, tasks and commands call only this.

``plan``         protocols, amendments with their derived word, drafts, pools
``outcomes``     what an attempt is to its slot, recording and correcting attempts, derivation, evidence
``predictions``  what each method said, seals, reasons, comparison, refits
``scores``       the panel, evaluations, held-out families, costs, pairs
``history``      the order of the ledger, when something became known, everything on one line of time
``transfer``     the transfer suite: submissions and their results

``importing`` brings an archive or a bundle in, ``hosts`` keeps the machines that run slots.
"""
