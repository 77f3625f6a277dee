"""The form of “will it fit?”: a model, its settings, and what a grid varies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from studies.estimation.errors import EstimationError
from studies.estimation.volumes import Architecture
from studies.models import Configuration, Study
from studies.services.questions.reading import (
    GPU_COUNTS,
    MAX_CONFIG_BYTES,
    RESERVATIONS,
    SETTINGS,
    SHARE,
    SWITCHES,
    WHOLE,
    GridQuestion,
    Question,
    sent_model,
)
from studies.text.settings import NAMES

_LARGEST = 2**31 - 1


class QuestionForm(forms.Form):
    """A model and its settings. What the browser leaves out is refused by name, never filled in."""

    use_required_attribute = True

    def __init__(self, study: Study, models: Mapping[str, Architecture], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.models = models
        self.fields["model"] = forms.ChoiceField(
            label="Model", choices=[(name, name) for name in sorted(models)] + [("", "the one given below")],
            required=False,
        )  # fmt: skip
        self.fields["workload_id"] = forms.CharField(label="Workload", max_length=100, required=True)
        self.fields["configuration_level"] = forms.CharField(label="Level", max_length=50, required=True)
        for name in WHOLE:
            self.fields[name] = forms.IntegerField(
                label=NAMES.get(name, name.replace("_", " ")), min_value=0, max_value=_LARGEST, required=True
            )
        self.fields[SHARE] = forms.FloatField(label=NAMES[SHARE], min_value=0, max_value=1, required=True)
        for name in SWITCHES:
            self.fields[name] = forms.BooleanField(label=NAMES.get(name, name), required=False)
        self._limits()
        self._other_model()
        self._grid()

    def _limits(self) -> None:
        for name in ("device_capacity_mib", "margin_limit_mib"):
            self.fields[name] = forms.IntegerField(
                label=f"{NAMES[name]}, if not the study's", min_value=1, max_value=10**8, required=False
            )

    def _other_model(self) -> None:
        self.fields["config"] = forms.CharField(
            label="config.json of another model", required=False, max_length=MAX_CONFIG_BYTES, strip=False,
            widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        )  # fmt: skip
        self.fields["file"] = forms.FileField(label="or its file", required=False, allow_empty_file=True)
        self.fields["model_id"] = forms.CharField(label="Its name", max_length=200, required=False)
        self.fields["family"] = forms.CharField(label="Its family", max_length=100, required=False)
        self.fields["lora_rank"] = forms.IntegerField(
            label="Its adapter's rank", min_value=1, max_value=4096, initial=64, required=False
        )

    def _grid(self) -> None:
        self.fields["gpu_counts"] = forms.CharField(
            label="GPU counts of the table", required=False, max_length=200,
            initial=", ".join(map(str, GPU_COUNTS)),
        )  # fmt: skip
        self.fields["reservations"] = forms.CharField(
            label="Shares of device memory of the table", required=False, max_length=200,
            initial=", ".join(map(str, RESERVATIONS)),
        )  # fmt: skip

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        file = values.get("file")
        if file is not None and file.size > MAX_CONFIG_BYTES:
            self.add_error("file", f"{file.size:,} bytes, expected at most {MAX_CONFIG_BYTES:,}.")
        elif file is not None and values.get("config"):
            self.add_error("file", "Either a file or a text.")
        given = bool(values.get("config")) or file is not None
        if not values.get("model") and not given:
            self.add_error("model", "Choose a model, or give the config.json of one.")
        if values.get("model") and given:
            self.add_error("config", "Either this or a model chosen above.")
        for name, kind in (("gpu_counts", int), ("reservations", float)):
            self._numbers(values, name, kind)
        return values

    def _numbers(self, values: dict[str, Any], name: str, kind: type[int] | type[float]) -> None:
        try:
            found = [kind(text) for text in values.get(name, "").replace(",", " ").split()]
        except ValueError:
            self.add_error(name, "Numbers, separated by commas.")
            return
        if any(not 0 < number <= _LARGEST for number in found) or len(set(found)) != len(found):
            self.add_error(name, "Different numbers above zero.")
        values[name] = found

    @property
    def question(self) -> Question:
        """What was asked. Raises ``EstimationError`` for a config.json that can't be read."""
        values = self.cleaned_data
        texts = {name: str(values[name]) for name in SETTINGS}
        limits = (values["device_capacity_mib"], values["margin_limit_mib"])
        if values["model"]:
            return Question(self.models[values["model"]], texts, *limits)
        if not values["lora_rank"]:
            raise EstimationError("config.json", "lora_rank", None, "the rank of the adapter")
        content = values["file"].read() if values["file"] else values["config"].encode("utf-8", "replace")
        model = sent_model(content, values["lora_rank"], values["family"], values["model_id"])
        return Question(model, texts, *limits, config=content, lora_rank=values["lora_rank"])

    def grid(self, question: Question) -> GridQuestion:
        """Every model of the pool and the asked one, with the counts and shares of the form."""
        known = {**self.models, question.model.model_id: question.model}
        return GridQuestion(
            tuple(known[name] for name in sorted(known)),
            tuple(self.cleaned_data["gpu_counts"] or GPU_COUNTS),
            tuple(self.cleaned_data["reservations"] or RESERVATIONS),
        )


def initial(study: Study) -> dict[str, Any]:
    """The settings of a planned configuration, so that a first question is one click away."""
    first = study.configurations.first() or Configuration.objects.filter(pool=study.pool).first()
    if first is None:
        return {}
    return {name: getattr(first, name) for name in SETTINGS} | {"model": first.model_id}
