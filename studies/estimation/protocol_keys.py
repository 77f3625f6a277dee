"""Every key of a protocol that the product reads: its type, what it means, and what holds without it.

`docs/protocol.md` has this table; any other key is the author's own and is kept as it is written.
"""

from __future__ import annotations

from dataclasses import dataclass

REQUIRED = "required"
FILLED = "filled in from the folder's other files"


@dataclass(frozen=True)
class Key:
    """One key. A dot leads into a nested object. `default` says what holds without it."""

    name: str
    kind: str
    default: str
    meaning: str


_RULE = "rule"
"""A word for an implemented rule, or the recorded text that states it."""

KEYS: tuple[Key, ...] = (
    Key("protocol_version", "text", REQUIRED, "The author's name for this version."),
    Key("device_capacity_mib", "whole number, MiB", REQUIRED, "Memory of one device."),
    Key(
        "memory_margin_limit_mib", "whole number, MiB", REQUIRED,
        "A peak up to this, itself included, is within the margin. At most the capacity.",
    ),
    Key("evaluation_seeds", "list of different whole numbers", REQUIRED,
        "Training seeds: each configuration has one slot for each."),
    Key("outcome_rule", _RULE, REQUIRED, "What eligible outcomes make a configuration's label."),
    Key("resource_cap.retries", "whole number from 0", "no limit",
        "How many attempts of a slot may count after the first one."),
    Key("resource_cap.requeue", "true or false", "true",
        "False: a claim that was never launched uses up one of the slot's tries."),
    Key("launches_per_slot", "whole number from 1", "no limit",
        "The same as retries, counted from one. If both are there, they must agree."),
    Key("target_configuration_ids", "list of ids", FILLED, "The planned configurations."),
    Key("target_configurations", "whole number", FILLED, "How many they are."),
    Key("planned_processes", "whole number", FILLED, "Slots: configurations times seeds."),
    Key("planned_pairs", "whole number", FILLED, "Matched pairs among the slots; 0 without pairs."),
    Key("source_studies", "list of names", FILLED + "; may be chosen",
        "Studies whose measured configurations methods may learn from."),
    Key("source_configuration_ids", "list of ids", FILLED + "; may be chosen",
        "Exactly the measured configurations that methods learn from."),
    Key("source_configurations", "whole number", FILLED, "How many they are."),
    Key("features", "list of volume names", REQUIRED,
        "Component volumes that methods learn from, in this order. Open to amendment."),
    Key("feature_scope", _RULE, REQUIRED, "Where features come from. Open to amendment."),
    Key("scoring", _RULE, "the same rule", "How predictions are scored. Open to amendment."),
    Key("donor_rule", _RULE, REQUIRED, "Which measured configuration donor copy copies."),
    Key("component_regression", _RULE, REQUIRED, "How the regression is fitted. Open to amendment."),
    Key("label_mapping", _RULE, REQUIRED, "How a fitted peak becomes a label."),
    Key("startup_check", _RULE, REQUIRED, "The one-sided check of memory at start-up."),
    Key("classifier.implementation", "text", REQUIRED, "sklearn.linear_model.LogisticRegression."),
    Key("classifier.penalty", "text", REQUIRED, "l2."),
    Key("classifier.C", "number above 0", REQUIRED, "Inverse strength of the penalty."),
    Key("classifier.class_weight", "text", REQUIRED, "balanced."),
    Key("classifier.multi_class", "text", REQUIRED, "multinomial."),
    Key("classifier.solver", "text", REQUIRED, "lbfgs."),
    Key("classifier.max_iter", "whole number from 1", REQUIRED, "Most iterations of the solver."),
    Key("classifier.random_state", "whole number from 0", REQUIRED, "Seed of the solver."),
    Key("classifier.scaling", _RULE, REQUIRED, "How features are scaled before the fit."),
    Key("classifier.convergence", _RULE, REQUIRED, "What happens if the fit does not converge."),
    Key("classifier.decision", _RULE, REQUIRED, "Which label is predicted from the scores."),
    Key("two_phase.quantile", "number from 0 to below 0.5", "the method is not used",
        "Calls for the method two phases; how much of each end of its residuals is cut off."),
    Key("exact_difference", _RULE, "the method is not used", "Calls for the method exact difference."),
    Key("prediction_origins", "object: target to parent's target", "the study fits its own predictions",
        "Makes a follow-up: its predictions are the parent's. Each parent's target at most once."),
    Key("estimators", _RULE, "required in a follow-up", "That the parent's predictions are inherited."),
    Key("original_protocol_sha256", "sha256", "required in a follow-up", "The parent's base protocol."),
    Key("original_prediction_seal_sha256", "sha256", "required in a follow-up", "The parent's seal."),
)  # fmt: skip


def markdown_table() -> str:
    """The keys as a table of a Markdown page."""
    rows = [f"| `{key.name}` | {key.kind} | {key.default} | {key.meaning} |" for key in KEYS]
    return "\n".join(["| key | type | without it | meaning |", "|---|---|---|---|", *rows])
