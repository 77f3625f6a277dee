"""Time a full refit: three folds, the final fit and the predictions, in one process on one core.

    python -m benchmarks.refit [--archive PATH] [--runs N]

Without an archive it fits the bundled study, which a process of its own reads through the site's import.
Beside the product it times a plain script of the same numerics, without any class of the product, so that
the ratio of the two shows what typing, checking and scoring add. Both must give the same numbers.
The study itself recorded 80 ms for its own fit; that is the goal here.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import multiprocessing
import os
import resource
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from studies.estimation.numerics import numerical_environment, one_thread
from studies.estimation.payload import from_payload, to_payload
from studies.estimation.pool import Pool, PoolConfiguration, Target
from studies.estimation.protocol import Amendment, effective_protocol, parse_rules
from studies.estimation.rules import ProtocolRules
from studies.estimation.study import fit_final, retrospective
from studies.estimation.volumes import Architecture, Settings

GOAL_SECONDS = 0.080
SAMPLE = Path(__file__).resolve().parents[1] / "studies" / "samples" / "rlvrambench.json"


def read_archive(folder: Path) -> tuple[Pool, ProtocolRules, list[Target]]:
    """Pool, rules and targets from an archive's files. Raises OSError when one is missing."""

    def rows(name: str) -> list[dict[str, str]]:
        with (folder / name).open(newline="", encoding="utf-8") as sheet:
            return list(csv.DictReader(sheet))

    def document(name: str) -> Any:
        return json.loads((folder / name).read_bytes())

    base = folder / "estimation/protocol.json"
    amendments = [
        Amendment.from_document(path.name, json.loads(path.read_bytes()))
        for path in sorted(base.parent.glob("amendment-*.json"))
    ]
    rules = parse_rules(
        effective_protocol(
            json.loads(base.read_bytes()),
            amendments,
            base_sha256=hashlib.sha256(base.read_bytes()).hexdigest(),
        )
    )
    architectures = {
        model: Architecture.from_metadata(entry)
        for model, entry in document("estimation/model_metadata.json").items()
    }
    outcomes = {row["configuration_id"]: row for row in rows("outcomes.csv")}
    permitted = set(rules.require_fitting().source_configuration_ids)
    pool = Pool.of(
        PoolConfiguration.from_rows(row, outcomes[row["configuration_id"]], architectures)
        for row in rows("configurations.csv")
        if row["configuration_id"] in permitted
    )
    settings = [Settings.from_row(row) for row in rows("estimation/targets.csv")]
    return pool, rules, [Target(item, architectures[item.model_id]) for item in settings]


def read_sample() -> tuple[Pool, ProtocolRules, list[Target]]:
    """Pool, rules and targets of the bundled study.

    A child process imports it into a database in memory, so that the site's code does not count towards the
    peak memory of this one.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as child:
        return from_payload(json.loads(child.submit(_sample_payload).result()))


def _sample_payload() -> str:
    """The bundled study as JSON of `to_payload`; runs in the child process."""
    os.environ["DATABASE_URL"] = "sqlite://:memory:"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "rlvram_site.settings")
    import django
    from django.core.management import call_command

    with tempfile.TemporaryDirectory() as folder:
        os.environ["DATA_DIR"] = folder
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("import_study", str(SAMPLE), verbosity=0)
    from studies.models import Study
    from studies.services.plan.pools import fitting_pool, targets
    from studies.services.plan.protocols import rules

    study = Study.objects.get(slug="estimation")
    effective = rules(study)
    panel = targets(study, effective.target_configuration_ids)
    return json.dumps(to_payload(fitting_pool(study, effective), effective, panel))


def product_refit(pool: Pool, rules: ProtocolRules, targets: Sequence[Target]) -> list[tuple[Any, ...]]:
    """The product's refit; returns what can be compared with the plain script."""
    folds = retrospective(pool, rules)["folds"]
    final = fit_final(pool, rules, targets)
    records = [record for family in sorted(folds) for record in folds[family]["predictions"]]
    records += [prediction.to_record() for prediction in final.predictions]
    return [
        (item["configuration_id"], item["method"], item["predicted_state"], item["predicted_peak_mib"])
        for item in records
    ]


def plain_rows(pool: Pool, targets: Sequence[Target]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Pool and targets as plain dicts, so that the plain script starts from what a script would read."""

    def plain(item: Target) -> dict[str, Any]:
        return vars(item.settings) | vars(item.architecture) | {"family": item.family}

    sources = [
        plain(item) | {"label": item.label.value, "peak": item.completed_peak_mib}
        for item in pool.configurations
    ]
    return sources, [plain(item) for item in targets]


def plain_refit(sources: list[dict[str, Any]], targets: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """The same numerics as one would type them into a script: no checks, no scores, no explanations."""
    gib = 2**30

    def volumes(row: dict[str, Any]) -> list[float]:
        weights = row["floating_checkpoint_elements"] + row["all_linear_layer_adapter_elements"]
        ranks = row["gpu_count"]
        batch = row["train_batch_size"] * row["rollout_n"] // ranks
        length = min(row["max_model_len"], row["max_prompt_length"] + row["max_response_length"])
        actor = min(row["actor_micro_batch"], batch) * length
        scoring = min(max(row["rollout_logprob_micro_batch"], row["ref_logprob_micro_batch"]), batch) * length
        unit = max(
            row["largest_transformer_layer_elements"],
            row["non_transformer_layer_elements"],
            row["largest_weight_tensor_elements"],
        )
        return [
            4 * weights / ranks / gib,
            0 if row["optimizer_offload"] else 8 * row["all_linear_layer_adapter_elements"] / ranks / gib,
            row["vllm_gpu_memory_utilization"] * row["device_capacity_mib"] / 1024,
            2 * weights / row["rollout_tp_size"] / gib,
            4 * unit / gib,
            2 * actor * (row["num_hidden_layers"] + 1) * row["hidden_size"] / gib,
            2 * max(actor, scoring) * row["vocab_size"] / gib,
            0 if row["parameter_offload"] else 4 * weights / ranks / gib,
        ]

    def fit_and_predict(fitting: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
        from scipy.optimize import nnls
        from sklearn.linear_model import LogisticRegression
        from sklearn.preprocessing import StandardScaler

        known, asked = np.array([volumes(row) for row in fitting]), np.array([volumes(row) for row in wanted])
        completed = np.array([row["peak"] is not None for row in fitting])
        peaks = np.array([row["peak"] for row in fitting if row["peak"] is not None]) / 1024
        divisors = np.maximum(known[completed].max(axis=0), 1)
        design = np.column_stack([np.ones(len(peaks)), known[completed] / divisors])
        weights, _ = nnls(design, peaks, maxiter=10_000)
        fitted = np.column_stack([np.ones(len(asked)), asked / divisors]) @ weights * 1024

        scaler = StandardScaler().fit(known)
        classifier = LogisticRegression(
            C=1.0, class_weight="balanced", max_iter=10_000, random_state=20260915, solver="lbfgs"
        ).fit(scaler.transform(known), [row["label"] for row in fitting])
        classes = classifier.classes_[
            (scaler.transform(asked) @ classifier.coef_.T + classifier.intercept_).argmax(axis=1)
        ]

        found: list[tuple[Any, ...]] = []
        for row, features, peak, label in zip(wanted, asked, fitted, classes, strict=True):
            donor = min(
                (
                    other
                    for other in fitting
                    if (other["workload_id"], other["configuration_level"])
                    == (row["workload_id"], row["configuration_level"])
                ),
                key=lambda other: (
                    other["gpu_count"] != row["gpu_count"],
                    other["family"] != row["family"],
                    abs(
                        math.log(other["floating_checkpoint_elements"] / row["floating_checkpoint_elements"])
                    ),
                    other["configuration_id"],
                ),
            )
            capacity, margin = row["device_capacity_mib"], row["margin_limit_mib"]
            guard = not row["parameter_offload"] and features[0] + features[2] > capacity / 1024
            state = (
                "memory_failure" if guard or peak > capacity
                else "above_margin" if peak > margin
                else "within_margin"
            )  # fmt: skip
            name = row["configuration_id"]
            found.append((name, "donor_copy", donor["label"], donor["peak"]))
            found.append((name, "component_regression", state, float(peak)))
            found.append((name, "logistic", str(label), None))
        return found

    found: list[tuple[Any, ...]] = []
    for family in sorted({row["family"] for row in sources}):
        found += fit_and_predict(
            [row for row in sources if row["family"] != family],
            [row for row in sources if row["family"] == family],
        )
    return found + fit_and_predict(sources, targets)


def same(product: list[tuple[Any, ...]], plain: list[tuple[Any, ...]]) -> bool:
    """Whether ids, methods and labels are equal and peaks agree to 1e-9."""
    return len(product) == len(plain) and all(
        one[:3] == other[:3]
        and (
            one[3] == other[3]
            if one[3] is None or other[3] is None
            else math.isclose(one[3], other[3], rel_tol=1e-9)
        )
        for one, other in zip(product, plain, strict=True)
    )


def measure(runs: int, **candidates: Callable[[], object]) -> dict[str, dict[str, float]]:
    """Best and median seconds of each candidate, run in turns after one warm-up of each."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for run in range(runs + 1):
        for name, candidate in candidates.items():
            started = time.perf_counter()
            candidate()
            if run:
                seconds[name].append(time.perf_counter() - started)
    return {
        name: {"best_s": min(times), "median_s": statistics.median(times)} for name, times in seconds.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status: 0 measured, 1 the two disagree, 2 no input."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.refit", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--archive",
        type=Path,
        help="folder with benchmark/configurations.csv (default: the bundled study)",
    )
    parser.add_argument("--runs", type=int, default=30, help="timed runs after one warm-up (default 30)")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs is {options.runs}, expected at least 1")
    try:
        pool, rules, targets = (
            read_archive(options.archive / "benchmark") if options.archive else read_sample()
        )
    except OSError as error:
        print(f"--archive is {options.archive}, expected a study archive: {error}", file=sys.stderr)
        return 2
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    sources, plain_targets = plain_rows(pool, targets)
    with one_thread(), warnings.catch_warnings():
        if not same(product_refit(pool, rules, targets), plain_refit(sources, plain_targets)):
            print("the product and the plain script disagree", file=sys.stderr)
            return 1
        times = measure(
            options.runs,
            product=lambda: product_refit(pool, rules, targets),
            plain=lambda: plain_refit(sources, plain_targets),
        )
    versions = numerical_environment()
    print(
        f"pool {len(pool)} configurations, targets {len(targets)}, runs {options.runs}, one core, one thread"
    )
    print(", ".join(f"{name} {versions[name]}" for name in ("python", "numpy", "scipy", "scikit_learn")))
    for name, found in times.items():
        print(f"{name:8} best {found['best_s']:.4f} s, median {found['median_s']:.4f} s")
    ratio = times["product"]["median_s"] / times["plain"]["median_s"]
    print(f"ratio    {ratio:.2f} (product / plain, medians)")
    reached = "reached" if times["product"]["median_s"] < GOAL_SECONDS else "missed"
    print(f"goal     {GOAL_SECONDS:.3f} s {reached}")
    print(f"memory   {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB peak of the process")
    return 0


if __name__ == "__main__":
    sys.exit(main())
