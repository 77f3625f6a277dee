"""Will it fit? A setting that nobody has planned, put to every method. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse

from studies.estimation.errors import EstimationError
from studies.estimation.volumes import Architecture
from studies.estimation.what_if import BY_TYPE, Answer, Change
from studies.figures.volumes import Bar, Segment, volumes_figure
from studies.models import Configuration, Study
from studies.services.errors import UNREADABLE
from studies.services.predictions.what_if import MAX_CONFIG_BYTES, Asked, ask, models_of, pasted_model
from studies.text.sentences import feature_words
from studies.text.settings import NAMES
from studies.text.words import count_word, family_words, listed, method_words, sentence
from studies.views.common import get_study, study_page

MIB_PER_GIB = 1024
_WHOLE = (
    "gpu_count", "rollout_tp_size", "actor_micro_batch", "rollout_logprob_micro_batch",
    "ref_logprob_micro_batch", "max_prompt_length", "max_response_length", "max_model_len", "rollout_n",
    "train_batch_size",
)  # fmt: skip
_SWITCHES = ("parameter_offload", "optimizer_offload", "free_cache_engine")
_LARGEST = 2**31 - 1


class QuestionForm(forms.Form):
    """A model and its settings. What the browser leaves out is refused by name, never filled in."""

    use_required_attribute = True

    def __init__(self, study: Study, models: Mapping[str, Architecture], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"] = forms.ChoiceField(
            label="Model", choices=[(name, name) for name in sorted(models)] + [("", "the one pasted below")],
            required=False,
        )  # fmt: skip
        self.fields["workload_id"] = forms.CharField(label="Workload", max_length=100, required=True)
        self.fields["configuration_level"] = forms.CharField(label="Level", max_length=50, required=True)
        for name in _WHOLE:
            self.fields[name] = forms.IntegerField(
                label=NAMES.get(name, name.replace("_", " ")), min_value=0, max_value=_LARGEST, required=True
            )
        self.fields["vllm_gpu_memory_utilization"] = forms.FloatField(
            label=NAMES["vllm_gpu_memory_utilization"], min_value=0, max_value=1, required=True
        )
        for name in _SWITCHES:
            self.fields[name] = forms.BooleanField(label=NAMES.get(name, name), required=False)
        self.fields["config"] = forms.CharField(
            label="config.json of another model", required=False, max_length=MAX_CONFIG_BYTES,
            widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        )  # fmt: skip
        self.fields["lora_rank"] = forms.IntegerField(
            label="Its adapter's rank", min_value=1, max_value=4096, initial=64, required=False
        )
        self.fields["family"] = forms.CharField(label="Its family", max_length=100, required=False)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if not values.get("model") and not values.get("config"):
            self.add_error("model", "Choose a model, or paste the config.json of one.")
        if values.get("model") and values.get("config"):
            self.add_error("config", "Either this or a model chosen above.")
        return values

    def texts(self) -> dict[str, str]:
        """The settings as a table would spell them."""
        return {
            name: str(self.cleaned_data[name])
            for name in (
                "workload_id",
                "configuration_level",
                *_WHOLE,
                "vllm_gpu_memory_utilization",
                *_SWITCHES,
            )
        }


@dataclass(frozen=True)
class AnswerView:
    """One method's answer as the page shows it."""

    answer: Answer
    name: str
    changes: str


def what_if(request: HttpRequest, slug: str) -> HttpResponse:
    """The form, and the answers once it was sent. A POST is for a pasted file; it records nothing either."""
    study = get_study(slug)
    try:
        models = models_of(study)
    except UNREADABLE as error:
        return study_page(request, study, "what-if", sentence=f"Nothing can be asked here: {error}.")
    sent = request.POST if request.method == "POST" else request.GET
    if not sent:
        form = QuestionForm(study, models, initial=_initial(study))
        return study_page(
            request, study, "what-if", form=form,
            sentence="Give a model and its settings: every method answers, and nothing is recorded.",
        )  # fmt: skip
    form = QuestionForm(study, models, sent)
    context: dict[str, Any] = {"form": form, "sentence": "Some fields need another value."}
    if form.is_valid():
        try:
            model = _model(form, models)
            asked = ask(study, model, form.texts())
        except UNREADABLE as error:
            form.add_error(None, f"{sentence(str(error))}.")
        else:
            context |= _shown(asked)
    status = 200 if "asked" in context else 422
    return study_page(request, study, "what-if", status=status, **context)


def _initial(study: Study) -> dict[str, Any]:
    """The settings of a planned configuration, so that a first question is one click away."""
    first = study.configurations.first() or Configuration.objects.filter(pool=study.pool).first()
    if first is None:
        return {}
    names = ("workload_id", "configuration_level", *_WHOLE, "vllm_gpu_memory_utilization", *_SWITCHES)
    return {name: getattr(first, name) for name in names} | {"model": first.model_id}


def _model(form: QuestionForm, models: Mapping[str, Architecture]) -> Architecture:
    values = form.cleaned_data
    if values["model"]:
        return models[values["model"]]
    if not values["lora_rank"]:
        raise EstimationError("config.json", "lora_rank", None, "the rank of the adapter")
    return pasted_model(values["config"].encode(), values["lora_rank"], values["family"])


def _shown(asked: Asked) -> dict[str, Any]:
    settings = asked.target.settings
    elements = asked.target.architecture.floating_checkpoint_elements
    bar = Bar("All volumes", [Segment(feature_words(item.name), item.gib) for item in asked.volumes])
    return {
        "asked": asked,
        "sentence": _sentence(asked),
        "answers": [_view(item) for item in asked.answers],
        "figure": volumes_figure(
            [bar],
            margin_gib=settings.margin_limit_mib / MIB_PER_GIB,
            capacity_gib=settings.device_capacity_mib / MIB_PER_GIB,
        ),
        "reaches": [(feature_words(item.feature), item) for item in asked.support.reaches],
        "by_type": [(size.name, size.weights_gib(elements)) for size in BY_TYPE],
        "family": family_words(asked.target.architecture.family),
    }


def _view(item: Answer) -> AnswerView:
    return AnswerView(item, method_words(item.method), "; ".join(map(_change, item.changes)))


def _change(item: Change) -> str:
    name = NAMES.get(item.field, item.field.replace("_", " ")).lower()
    if isinstance(item.after, bool):
        return f"{name} on"
    return f"{name} {item.after:,} instead of {item.before:,}"


def _sentence(asked: Asked) -> str:
    answered = [item for item in asked.answers if item.prediction is not None]
    approving = [
        method_words(item.method) for item in answered if item.prediction and item.prediction.approves
    ]
    outside = sum(not reach.inside for reach in asked.support.reaches)
    if approving:
        head = f"{listed(approving)} {'approves' if len(approving) == 1 else 'approve'} this setting"
    else:
        head = f"none of {count_word(len(answered))} methods approves this setting"
    tail = (
        f"{count_word(outside)} of its volumes outside what the pool measured"
        if outside
        else "all of its volumes lie within what the pool measured"
    )
    return sentence(f"{head}; {tail}.")
