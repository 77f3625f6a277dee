"""A question of the kind “will it fit?” as programs send it, read into what methods can be asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from studies.checkpoints.architecture import model_from_config
from studies.estimation.errors import EstimationError
from studies.estimation.fields import require_number, require_text, require_whole
from studies.estimation.rules import ProtocolRules
from studies.estimation.volumes import Architecture
from studies.models import Configuration, Study
from studies.services.errors import ServiceError
from studies.services.plan import protocols
from studies.services.plan.pools import architectures, pool_of

NAME = "the question"
MAX_CONFIG_BYTES = 256 * 1024
OWN_MODEL = "pasted config.json"
WHOLE = (
    "gpu_count", "rollout_tp_size", "actor_micro_batch", "rollout_logprob_micro_batch",
    "ref_logprob_micro_batch", "max_prompt_length", "max_response_length", "max_model_len", "rollout_n",
    "train_batch_size",
)  # fmt: skip
SWITCHES = ("parameter_offload", "optimizer_offload", "free_cache_engine")
TEXTS = ("workload_id", "configuration_level")
SHARE = "vllm_gpu_memory_utilization"
SETTINGS = (*TEXTS, *WHOLE, SHARE, *SWITCHES)
LIMITS = ("device_capacity_mib", "margin_limit_mib")
_KEYS = ("study", "model", "config", "model_id", "family", "lora_rank", "like", "settings", *LIMITS, "grid")
_GRID_KEYS = ("models", "gpu_counts", "reservations")
GPU_COUNTS = (1, 2, 4, 8)
RESERVATIONS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass(frozen=True)
class Question:
    """A model and its settings.

    Attributes:
        values: each of ``SETTINGS`` as a table would spell it.
        capacity_mib, margin_mib: limits of another device than the study's, MiB; None for the study's.
        config: bytes of the model's ``config.json`` where it was sent; empty for a model of the pool.
        lora_rank: rank of the sent model's adapter.
    """

    model: Architecture
    values: Mapping[str, str]
    capacity_mib: int | None = None
    margin_mib: int | None = None
    config: bytes = b""
    lora_rank: int | None = None


@dataclass(frozen=True)
class GridQuestion:
    """What a grid varies around a question."""

    models: tuple[Architecture, ...]
    gpu_counts: tuple[int, ...]
    reservations: tuple[float, ...]


def models_of(study: Study) -> dict[str, Architecture]:
    """The models that can be named, by id."""
    return architectures(pool_of(study))


def sent_model(content: bytes, lora_rank: int, family: str, model_id: str = "") -> Architecture:
    """A model from the bytes of its ``config.json``.

    Raises ``EstimationError`` for a file that can't be read or a family whose layout is not known.
    """
    if len(content) > MAX_CONFIG_BYTES:
        raise EstimationError("config.json", "size", len(content), f"at most {MAX_CONFIG_BYTES:,} bytes")
    read = model_from_config(content, lora_rank=lora_rank)
    names = {"model_id": model_id or OWN_MODEL, "family": family or read.config.model_type}
    return Architecture.from_metadata(read.to_record() | names)


def read_question(study: Study, document: Mapping[str, object]) -> Question:
    """A question's JSON document, without its grid.

    Raises ``EstimationError`` that names the key and what was expected.
    """
    _only(document, "", _KEYS)
    settings = document.get("settings", {})
    if not isinstance(settings, Mapping):
        raise EstimationError(NAME, "settings", settings, "an object with one value for each setting")
    _only(settings, "settings.", SETTINGS)
    like = _like(study, document)
    given = {name: _spelt(name, value) for name, value in settings.items()}
    values = _settings_of(like) | given if like else given
    for name in SETTINGS:
        if name not in values:
            raise EstimationError(NAME, f"settings.{name}", None, "a value, or “like” with a configuration")
    limits = [_limit(document, name) for name in LIMITS]
    return replace(_model(study, document, like), values=values, capacity_mib=limits[0], margin_mib=limits[1])


def read_grid(study: Study, question: Question, document: Mapping[str, object]) -> GridQuestion:
    """The grid around a question; what it leaves out is every model of the pool, and usual values.

    Raises ``EstimationError``.
    """
    given = document.get("grid")
    if not isinstance(given, Mapping):
        raise EstimationError(NAME, "grid", given, "an object with " + ", ".join(_GRID_KEYS))
    _only(given, "grid.", _GRID_KEYS)
    known = models_of(study) | {question.model.model_id: question.model}
    names = _list(given, "models", sorted(known))
    for name in names:
        if name not in known:
            raise EstimationError(NAME, "grid.models", name, "one of " + ", ".join(sorted(known)))
    counts = _list(given, "gpu_counts", GPU_COUNTS)
    shares = _list(given, "reservations", RESERVATIONS)
    return GridQuestion(
        tuple(known[str(name)] for name in names),
        tuple(require_whole(value, NAME, "grid.gpu_counts", 1) for value in counts),
        tuple(require_number(value, NAME, "grid.reservations") for value in shares),
    )


def _list(given: Mapping[str, object], key: str, otherwise: object) -> list[object]:
    values = given.get(key, otherwise)
    if not isinstance(values, list | tuple) or not values or len(set(map(str, values))) != len(values):
        raise EstimationError(NAME, f"grid.{key}", values, "a list of different values")
    return list(values)


def _only(given: Mapping[str, object], place: str, known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            raise EstimationError(NAME, f"{place}{key}", given[key], "only " + ", ".join(known))


def _model(study: Study, document: Mapping[str, object], like: Configuration | None) -> Question:
    named, config = document.get("model"), document.get("config")
    if config is None:
        name = like.model_id if like and named is None else named
        known = models_of(study)
        if not isinstance(name, str) or name not in known:
            expected = "one of " + ", ".join(sorted(known)) + ", or “config” with a config.json"
            raise EstimationError(NAME, "model", name, expected)
        return Question(known[name], {})
    if named is not None:
        raise EstimationError(NAME, "model", named, "either this or config")
    if not isinstance(config, Mapping | str):
        raise EstimationError(NAME, "config", config, "the object of a config.json, or its text")
    content = (config if isinstance(config, str) else json.dumps(config)).encode("utf-8", "replace")
    rank = require_whole(document.get("lora_rank"), NAME, "lora_rank", 1)
    texts = {
        key: "" if document.get(key) is None else require_text(document[key], NAME, key)
        for key in ("family", "model_id")
    }
    return Question(sent_model(content, rank, **texts), {}, config=content, lora_rank=rank)


def _like(study: Study, document: Mapping[str, object]) -> Configuration | None:
    name = document.get("like")
    if name is None:
        return None
    text = require_text(name, NAME, "like")
    own = study.configurations.filter(configuration_id=text).first()
    found = own or Configuration.objects.filter(pool=study.pool, configuration_id=text).first()
    if found is None:
        raise EstimationError(NAME, "like", name, "a configuration of the study or of its pool")
    return found


def _settings_of(configuration: Configuration) -> dict[str, str]:
    return {name: str(getattr(configuration, name)) for name in SETTINGS}


def _spelt(name: str, value: object) -> str:
    place = f"settings.{name}"
    if name in TEXTS:
        return require_text(value, NAME, place)
    if name in SWITCHES:
        if not isinstance(value, bool):
            raise EstimationError(NAME, place, value, "true or false")
        return str(value)
    if name == SHARE:
        return repr(require_number(value, NAME, place))
    return str(require_whole(value, NAME, place, 0))


def _limit(document: Mapping[str, object], name: str) -> int | None:
    value = document.get(name)
    return None if value is None else require_whole(value, NAME, name, 1)


def study_of(document: object) -> Study:
    """The study that a document names.

    Raises ``EstimationError`` for a document that is none, ``ServiceError`` for a study that is not recorded.
    """
    if not isinstance(document, Mapping):
        raise EstimationError(NAME, "document", type(document).__name__, "a JSON object")
    slug = require_text(document.get("study"), NAME, "study")
    study = Study.objects.select_related("pool").filter(slug=slug.replace("\x00", "")).first()
    if study is None:
        raise ServiceError(f"there is no study {slug[:100]!r}")
    own_rules(study)
    return study


def own_rules(study: Study) -> ProtocolRules:
    """The rules of a study that fits its own predictions.

    Raises ``ServiceError`` for one that inherits them.
    """
    rules = protocols.rules(study)
    if rules.fitting is None:
        raise ServiceError("this study inherits its predictions; ask the study that it follows")
    return rules
