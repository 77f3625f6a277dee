"""What holds now about a study, derived from what is recorded. Pages, API, tasks and commands call only this.

``eligibility``   which attempt of a slot counts, and why a slot is unresolved
``panel``         the whole panel with slots, labels, predictions and the state of every cell
``evaluation``    scores of the panel and of the held-out families, recorded with their inputs' hashes
``protocols``     the effective protocol, what each amendment changed, and the word for it
``seals``         whether a seal came before the first outcome; sealing
``inheritance``   whether a follow-up's predictions are its parent's
``pools``         recorded configurations as the estimation package's pool and targets
``forecasts``     recorded predictions as the estimation package's, and which set is the panel's
``costs``         GPU time by scope, and what the evidence cost
``history``       everything on one line of time, and when it became known
"""
