"""Forms of the admission pages. They check that a field is there and readable; rules are in the services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.http import QueryDict

from admission import estimator
from admission.models import (
    Change,
    ChangeHead,
    Measurement,
    Proposal,
    ProposalDecision,
    Review,
    TrackedIssue,
    Witness,
)

REPLAY_SAMPLES = Path(settings.BASE_DIR) / "admission" / "samples" / "replays"
PARALLEL = ("tensor_parallel", "context_parallel", "expert_parallel", "expert_tensor_parallel")


class ProposalForm(forms.Form):
    """A reviewer's decision about one proposal; which further fields it has depends on its kind."""

    verdict = forms.ChoiceField(
        label="Decision",
        choices=[("accepted", "Accept"), ("edited", "Accept with edits"), ("rejected", "Reject")],
    )

    def __init__(
        self, *args: Any, proposal: Proposal, choices: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        kwargs["auto_id"] = f"{proposal.key}-%s"
        super().__init__(*args, **kwargs)
        self.proposal = proposal
        self.fields["proposal"] = forms.CharField(widget=forms.HiddenInput, initial=proposal.key)
        offered = choices or self.choices_for(proposal.issue)
        value, kind = proposal.value, proposal.kind
        if kind == Proposal.Kind.CHANGE:
            self._text("repository", "Repository", value["repository"], required=False)
            self.fields["number"] = forms.IntegerField(
                label="Number", initial=value["number"], min_value=1, max_value=2**31 - 1, required=False
            )
            self._text("title", "Title", "")
        elif kind == Proposal.Kind.COMMIT:
            self._text("sha", "Hash", value["sha"])
            self.fields["change"] = forms.ChoiceField(
                label="Head of", choices=[("", "choose a change"), *offered["changes"]], required=False
            )
            self.fields["state"] = forms.ChoiceField(
                label="State",
                choices=ChangeHead.State.choices,
                initial=ChangeHead.State.UNSTATED,
                required=False,
            )
        elif kind == Proposal.Kind.RECEIPT:
            self._text("label", "Label", value["location"].rpartition("/")[2] or "Receipt")
            self._text("location", "Location", value["location"], required=False)
            self._text("sha256", "sha256", value["sha256"])
        elif kind == Proposal.Kind.VERDICT:
            self._text("head_sha", "Head", value["head_sha"])
            self.fields["change"] = forms.ChoiceField(
                label="Change", choices=[("", "choose a change"), *offered["changes"]], required=False
            )
            self._text("reviewer", "Reviewer", value.get("reviewer", ""))
            self.fields["verdict_given"] = forms.ChoiceField(
                label="Verdict", choices=Review.Verdict.choices, initial=value["verdict"], required=False
            )
            self.fields["withdraws"] = forms.ChoiceField(
                label="Withdraws", choices=[("", "none"), *offered["reviews"]], required=False
            )
        elif kind == Proposal.Kind.FAILURE:
            self._text("title", "Run", "")
            self.fields["decision"] = forms.ChoiceField(
                label="Admission", choices=Witness.Decision.choices, required=False,
                initial=Witness.Decision.ADMITTED,
            )  # fmt: skip
        else:
            self.fields["size_bytes"] = forms.IntegerField(
                label="Bytes", initial=value["size_bytes"], min_value=0, max_value=2**63 - 1, required=False
            )
            self._text("label", "What it measures", "")
            self.fields["witness"] = forms.ChoiceField(
                label="Witness", choices=[("", "none"), *offered["witnesses"]], required=False
            )
            self.fields["basis"] = forms.ChoiceField(
                label="Kind",
                choices=Measurement.Basis.choices,
                initial=Measurement.Basis.OTHER,
                required=False,
            )

    def _text(self, name: str, label: str, initial: str, *, required: bool = True) -> None:
        # Nothing is required of a rejection; clean() asks for what an acceptance needs.
        field = forms.CharField(label=label, initial=initial, required=False, max_length=2_000)
        field.needed = required  # type: ignore[attr-defined]
        self.fields[name] = field

    @staticmethod
    def choices_for(issue: TrackedIssue) -> dict[str, Any]:
        """Changes and witnesses of the issue, read once for a whole page of forms."""
        changes = issue.change_rows.all().order_by("number", "id")
        witnesses = issue.witness_rows.all().values_list("key", "title")
        return {
            "changes": [(change.key, f"{change.label} {change.title}"[:80]) for change in changes],
            "witnesses": list(witnesses),
            "reviews": [
                (review.key, f"{review.reviewer}, {review.head_sha[:8]}")
                for review in issue.review_rows.exclude(verdict=Review.Verdict.WITHDRAWN).order_by("-id")
            ],
        }

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        verdict = cleaned.get("verdict")
        if verdict == ProposalDecision.Verdict.REJECTED:
            return cleaned
        for name, field in self.fields.items():
            # What was found is at hand, unless an edit cleared it.
            found = bool(self.proposal.value.get(name))
            if found and (verdict == ProposalDecision.Verdict.ACCEPTED or name not in self.data):
                continue
            if getattr(field, "needed", False) and name not in self.errors and not cleaned.get(name):
                self.add_error(name, f"{field.label} is needed to record it.")
        return cleaned

    def decision(self) -> dict[str, Any]:
        """Arguments of ``admission.services.recording.decide``."""
        values = {
            name: value
            for name, value in self.cleaned_data.items()
            if name not in ("verdict", "proposal") and value not in (None, "")
        }
        issue = self.proposal.issue
        if "change" in values:
            values["change"] = Change.objects.get(issue=issue, key=values["change"])
        if "witness" in values:
            values["witness"] = Witness.objects.get(issue=issue, key=values["witness"])
        if "withdraws" in values:
            values["withdraws"] = Review.objects.get(issue=issue, key=values["withdraws"])
        verdict = self.cleaned_data["verdict"]
        if verdict == ProposalDecision.Verdict.ACCEPTED:
            # Accepting takes what was found; only what the text could not give comes from the form.
            given = self.proposal.value
            values = {name: value for name, value in values.items() if not given.get(name)}
            if self.proposal.kind == Proposal.Kind.VERDICT:
                values.pop("verdict_given", None)
        return {"verdict": verdict, "values": values}


def policy_choices() -> list[tuple[str, str]]:
    """The policies that pages offer, with what each does."""
    return [(preset.name, f"{preset.name}: {preset.explanation}") for preset in estimator.PRESETS]


class PoliciesField(forms.MultipleChoiceField):
    """Policies to compare."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            choices=policy_choices, widget=forms.CheckboxSelectMultiple, label="Policies", **kwargs
        )


def _whole(label: str, low: int = 0, *, required: bool = True, help_text: str = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label, min_value=low, max_value=estimator.MAX_WHOLE, required=required, help_text=help_text
    )


class CalculatorForm(forms.Form):
    """One forward, the model's sizes, and at most one observation before it."""

    packed_tokens = _whole("Packed tokens N")
    logical_tokens = _whole("Logical tokens L")
    output_bytes = _whole("Requested outputs, bytes")
    usable_bytes = _whole("Usable memory, bytes", required=False, help_text="empty: no decision")
    hidden_size = _whole("Hidden size H", 1)
    layers = _whole("Layers", 1)
    element_bytes = _whole("Bytes per element b", 1)
    experts_per_token = _whole("Routed experts per token K")
    expert_intermediate_size = _whole(
        "Width of an expert F", 1, required=False, help_text="for fc2_stage and fc1_fc2_stage"
    )
    tensor_parallel = _whole("Tensor parallel", 1)
    context_parallel = _whole("Context parallel", 1)
    expert_parallel = _whole("Expert parallel", 1)
    expert_tensor_parallel = _whole("Expert tensor parallel", 1)
    expert_dispatch = forms.ChoiceField(
        label="How tokens reach experts",
        choices=[("alltoall", "all-to-all"), ("hybridep", "HybridEP"), ("other", "another way")],
        required=False,
    )
    observed_packed_tokens = _whole("Observed packed tokens P", 1, required=False)
    observed_logical_tokens = _whole("Observed logical tokens", 1, required=False)
    observed_output_bytes = _whole("Observed outputs, bytes", required=False)
    observed_baseline_bytes = _whole("Baseline, bytes", required=False)
    observed_peak_bytes = _whole("Peak, bytes", required=False)
    observed_retained_bytes = _whole("Retained, bytes", required=False, help_text="empty: not measured")
    policies = PoliciesField()

    FORWARD = ("packed_tokens", "logical_tokens", "output_bytes", "usable_bytes")
    SIZES = ("hidden_size", "layers", "element_bytes", "experts_per_token", "expert_intermediate_size")
    MODEL = (*SIZES, *PARALLEL, "expert_dispatch")
    OBSERVED = ("packed_tokens", "logical_tokens", "output_bytes", "baseline_bytes", "peak_bytes")

    def clean_expert_dispatch(self) -> str:
        return self.cleaned_data["expert_dispatch"] or "alltoall"

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        given = [name for name in self.OBSERVED if cleaned.get(f"observed_{name}") is not None]
        for name in self.OBSERVED if given else ():
            if name not in given and f"observed_{name}" not in self.errors:
                self.add_error(f"observed_{name}", "An observation needs all of its numbers, or none.")
        return cleaned

    def observations(self) -> list[estimator.Observation]:
        """The observation, if one is given. Raises the estimator's ``InputError``."""
        values = {name: self.cleaned_data[f"observed_{name}"] for name in self.OBSERVED}
        if values["packed_tokens"] is None:
            return []
        retained = self.cleaned_data["observed_retained_bytes"]
        return [estimator.Observation(**values, retained_bytes=retained)]

    def prices(self) -> tuple[estimator.Price, ...]:
        """One price per policy. Raises the estimator's ``InputError``."""
        data = self.cleaned_data
        model = estimator.Model(**{name: data[name] for name in self.MODEL})
        forward = estimator.Forward(data["packed_tokens"], data["logical_tokens"], data["output_bytes"])
        chosen = estimator.parse_policies(data["policies"])
        return estimator.compare(model, forward, chosen, self.observations(), data["usable_bytes"])

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields as the page shows them."""
        observed = [*(f"observed_{name}" for name in self.OBSERVED), "observed_retained_bytes"]
        return [
            ("Forward", [self[name] for name in self.FORWARD]),
            ("Model", [self[name] for name in self.MODEL]),
            ("One observation before it", [self[name] for name in observed]),
        ]


class ModelConfigForm(forms.Form):
    """A Hugging Face ``config.json``, pasted or uploaded, that gives the calculator the model's sizes."""

    MOST = 200_000

    config = forms.CharField(
        label="Paste a config.json", required=False, strip=False, max_length=MOST,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "mono"}),
    )  # fmt: skip
    config_file = forms.FileField(label="or choose the file", required=False, allow_empty_file=True)
    carried = forms.CharField(required=False, widget=forms.HiddenInput, max_length=20_000)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload = cleaned.get("config_file")
        if upload is not None and upload.size > self.MOST:
            self.add_error(
                "config_file", f"The file has {upload.size:,} bytes; at most {self.MOST:,} are read."
            )
        if self.errors:
            return cleaned
        text: str | bytes = upload.read() if upload is not None else cleaned["config"]
        field = "config_file" if upload is not None else "config"
        if not text.strip():
            self.add_error(field, "Paste a config.json, or choose a file.")
            return cleaned
        try:
            cleaned["reading"] = estimator.read_config(estimator.read_json(text))
        except estimator.InputError as error:
            for problem in error.problems[:20]:
                self.add_error(field, str(problem))
        return cleaned

    def query(self) -> str:
        """The calculator's query with the sizes of the config in the place of the model's."""
        values = QueryDict(self.cleaned_data["carried"], mutable=True)
        for name in set(values) - set(CalculatorForm.base_fields):
            del values[name]
        sizes = self.cleaned_data["reading"].values
        for name in CalculatorForm.SIZES:
            given = sizes.get(name)
            values[name] = "" if given is None else str(given)
        return values.urlencode()

    def sentence(self) -> str:
        """What was read, and from which key."""
        reading = self.cleaned_data["reading"]
        words = ("hidden size", "layers", "bytes per element", "routed experts", "width of an expert")
        sizes = [
            f"{said} {reading.values[name]:,} ({reading.read_from[name]})"
            for name, said in zip(CalculatorForm.SIZES, words, strict=True)
            if name in reading.read_from
        ]
        model = f"The config of {reading.family}" if reading.family else "The config"
        dense = "" if reading.values["experts_per_token"] else "; it names no experts: a dense model"
        return f"{model} gives {', '.join(sizes)}{dense}."


def shape_values(shape: estimator.Shape) -> dict[str, Any]:
    """A published shape as the calculator's field values."""
    values: dict[str, Any] = {name: getattr(shape.model, name) for name in CalculatorForm.MODEL}
    values |= {name: getattr(shape.forward, name) for name in CalculatorForm.FORWARD[:3]}
    values["usable_bytes"] = shape.usable_bytes
    for observation in shape.observations[:1]:
        values |= {f"observed_{name}": getattr(observation, name) for name in CalculatorForm.OBSERVED}
        values["observed_retained_bytes"] = observation.retained_bytes
    return values


def replay_samples() -> dict[str, str]:
    """The bundled histories, by name."""
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(REPLAY_SAMPLES.glob("*.json"))}


class ReplayForm(forms.Form):
    """A history to replay, pasted or uploaded, and the policies to compare."""

    document = forms.CharField(
        label="History (JSON)", required=False, strip=False, max_length=estimator.MAX_DOCUMENT_SIZE,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "mono"}),
    )  # fmt: skip
    file = forms.FileField(label="or a file", required=False, allow_empty_file=True)
    policies = PoliciesField()
    witness = forms.ChoiceField(label="Keep the result beside", required=False)

    def __init__(self, *args: Any, witnesses: list[tuple[str, str]] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if witnesses is None:
            del self.fields["witness"]
        else:
            self.fields["witness"].choices = [("", "no witness: show only"), *witnesses]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload = cleaned.get("file")
        if upload is not None and upload.size > estimator.MAX_DOCUMENT_SIZE:
            self.add_error(
                "file",
                f"The file has {upload.size:,} bytes; at most {estimator.MAX_DOCUMENT_SIZE:,} are read.",
            )
            return cleaned
        text: str | bytes = upload.read() if upload is not None else cleaned.get("document", "")
        if not text.strip():
            self.add_error("document", "Paste a history, or choose a file.")
            return cleaned
        try:
            cleaned["parsed"] = estimator.read_json(text)
            estimator.read_document(cleaned["parsed"])
        except estimator.InputError as error:
            for problem in error.problems[:20]:
                self.add_error("document", str(problem))
        return cleaned
