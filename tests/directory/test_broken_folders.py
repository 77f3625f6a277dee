"""Each broken folder is refused with file, line, field and what was expected, and nothing is recorded."""

from __future__ import annotations

import shutil
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.models import LedgerEntry

pytestmark = pytest.mark.django_db


def replace(file, old, new):
    def change(folder):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new, 1))

    return change


def write(file, content):
    def change(folder):
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return change


def remove(file):
    def change(folder):
        path = folder / file
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return change


def cell(file, column, value, line=2):
    """Put ``value`` into a column of the row on that line."""

    def change(folder):
        rows = (folder / file).read_text().splitlines()
        place = rows[0].split(",").index(column)
        cells = rows[line - 1].split(",")
        cells[place] = value
        rows[line - 1] = ",".join(cells)
        (folder / file).write_text("\n".join(rows) + "\n")

    return change


STUDY, PROTOCOL, TABLE, POOL = "study.yaml", "protocol.yaml", "configurations.csv", "pool.csv"
CONFIG = "models/qwen25-14b/config.json"
BROKEN = [
    (remove(STUDY), "study.yaml: file is 'No such file or directory', expected a YAML file"),
    (write(STUDY, "- a\n"), "study.yaml:1: file is 'no mapping'"),
    (write(STUDY, "slug: [\n"), "study.yaml:2: text is"),
    (write(STUDY, b"slug: \xff\n"), "study.yaml: byte 6 is 'no UTF-8'"),
    (write(STUDY, "a: &x 1\nb: *x\n"), "study.yaml: alias is"),
    (write(STUDY, "a: " + "[" * 40 + "]" * 40), "nested too deeply"),
    (replace(STUDY, "slug: example-14b", "slug: Example_14b"), "study.yaml:2: slug is 'Example_14b', expect"),
    (replace(STUDY, "slug: example-14b", "slug: a\nslug: b"), "study.yaml:3: slug is 'given twice'"),
    (replace(STUDY, "title: Does", "titel: Does"), "study.yaml:3: titel is 'titel', expected one of"),
    (replace(STUDY, "title: Does", "titel: Does"), "study.yaml: title is missing, expected a text of 1 to 2"),
    (replace(STUDY, "[Ada Example]", "Ada"), "study.yaml:5: people is 'Ada', expected a list of names"),
    (replace(STUDY, "# parent", "parent"), "study.yaml:11: parent is 'other-study', expected a recorded stu"),
    (replace(STUDY, "lora_rank: 64", "lora_rank: 0"), "models.qwen25-14b.lora_rank is 0, expected a whole"),
    (replace(STUDY, "lora_rank: 64", "lora_rank: yes"), "models.qwen25-14b.lora_rank is True, expected"),
    (replace(STUDY, "family: qwen25", "familie: qwen25"), "models.qwen25-14b.family is missing"),
    (replace(STUDY, "meta-llama/Llama-3.1-8B", "Qwen/Qwen2.5-14B"), "expected each model once"),
    (replace(STUDY, "order_seed: 20261201", "order_seed: -1"), "schedule.order_seed is -1, expected a whole"),
    (replace(STUDY, "devices: 8", "devices: 4"), "configurations.csv:5: gpu_count is 8, expected at most th"),
    (replace(STUDY, "count: false", "count: maybe"), "schedule.pair_by_gpu_count is 'maybe', expected true"),
    (replace(STUDY, "count: false", "count: true"), "because the schedule pairs by GPU count"),
    (replace(STUDY, "order_seed: 20261201", "order_seed: !!python/object:os.system 1"), "schedule.order_see"),
    (remove(PROTOCOL), "protocol.yaml: file is 'No such file or directory'"),
    (replace(PROTOCOL, "[1, 2, 3, 4, 5]", "[1, 1]"), "protocol.yaml:7: evaluation_seeds is [1, 1], expected"),
    (replace(PROTOCOL, "[1, 2, 3, 4, 5]", "[]"), "evaluation_seeds is []"),
    (replace(PROTOCOL, "70000", "90000"), "margin_limit_mib is 90000, expected at most the device capacity"),
    (replace(PROTOCOL, "81559", "'80 GB'"), "device_capacity_mib is missing, expected a number of MiB here"),
    (replace(PROTOCOL, "every_planned_outcome", "majority"), "outcome_rule is 'majority', expected a rule t"),
    (replace(PROTOCOL, "retries: 1", "retries: -1"), "resource_cap.retries is -1, expected a whole number o"),
    (replace(PROTOCOL, "  - actor_shards_gib", "  - magic_gib"), "protocol.yaml:19: features is 'magic_gib'"),
    (replace(PROTOCOL, "C: 1.0", "C: 0"), "classifier.C is 0.0, expected a number above zero"),
    (replace(PROTOCOL, "C: 1.0", "C: .nan"), "classifier.C is '.nan', expected a finite number"),
    (replace(PROTOCOL, "scoring:", "planned_pairs: 3\nscoring:"), "planned_pairs is 3, expected 0, as the o"),
    (replace(PROTOCOL, "# source_studies: [earlier-runs]", "source_studies: [other]"), "source_studies is '"),
    (replace(PROTOCOL, "scoring:", "completion_pattern: '(a'\nscoring:"), "completion_pattern is '(a', exp"),
    (replace(PROTOCOL, "scoring:", "completion_pattern: 7\nscoring:"), "completion_pattern is 7, expected a"),
    (remove(TABLE), "configurations.csv: file is 'No such file"),
    (write(TABLE, "configuration_id\n"), "configurations.csv:1: model is missing, expected the column"),
    (replace(TABLE, "configuration_id,", "configuration_id,colour,"), "configurations.csv:1: column is 'col"),
    (cell(TABLE, "gpu_count", "0"), "configurations.csv:2: gpu_count is 0, expected a whole number above ze"),
    (cell(TABLE, "gpu_count", "two"), "configurations.csv:2: gpu_count is 'two', expected a whole number"),
    (cell(TABLE, "gpu_count", "1e3"), "configurations.csv:2: gpu_count is '1e3'"),
    (cell(TABLE, "rollout_tp_size", "3"), "configurations.csv:2: gpu_count is 1, expected a multiple of rol"),
    (cell(TABLE, "parameter_offload", ""), "configurations.csv:2: parameter_offload is '', expected True or"),
    (cell(TABLE, "vllm_gpu_memory_utilization", "1.5"), "vllm_gpu_memory_utilization is 1.5, expected a sha"),
    (cell(TABLE, "rollout_n", "0", line=5), "configurations.csv:5: rollout_n is 0, expected a whole number"),
    (cell(TABLE, "model", "gpt-2"), "configurations.csv:2: model is 'gpt-2', expected one of"),
    (cell(TABLE, "configuration_id", ""), "configurations.csv:2: configuration_id is '', expected a text"),
    (cell(TABLE, "configuration_level", " "), "configurations.csv:2: configuration_level is ' ', expected a"),
    (cell(TABLE, "configuration_id", "qwen25-14b-math-short-1gpu"), "expected an id that the pool does not"),
    (write(TABLE, b"\xff\xfe"), "configurations.csv: byte 0 is 'no UTF-8'"),
    (cell(POOL, "observed_state", "unresolved"), "pool.csv:2: observed_state is 'unresolved', expected one"),
    (cell(POOL, "max_completed_run_peak_mib", "x", line=4), "pool.csv:4: "),
    (cell(POOL, "eligible_processes", "2"), "pool.csv:2: distinct_seeds is '3', expected as many as"),
    (remove(POOL), "study.yaml:9: pool is 'example-earlier-runs', expected a recorded pool (none yet), or a"),
    (remove("models/qwen25-14b"), "models/qwen25-14b/config.json: file is 'No such file or directory'"),
    (write(CONFIG, "{"), "models/qwen25-14b/config.json: line 1 column 2 is 'not JSON"),
    (replace(CONFIG, '"hidden_size": 5120', '"hidden_size": null'), "config.json: hidden_size is missing"),
    (replace(CONFIG, '"qwen2"', '"mamba"'), "config.json: model_type is 'mamba', expected one of gemma"),
    (write("models/qwen25-14b/a.safetensors", b"abc"), "models/qwen25-14b/a.safetensors: header length is"),
    (write("schedule.csv", "experiment_id,configuration_id,seed\n"), "study.yaml:32: schedule is 'given', e"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "says"), BROKEN, ids=[says[:60] for _, says in BROKEN])
def test_it_is_named_with_its_place(folder, change, says):
    change(folder)
    out = StringIO()
    with pytest.raises(CommandError, match=r"\d+ problems?; nothing was changed"):
        call_command("check_study", folder, stdout=out)
    assert says in out.getvalue()
    with pytest.raises(CommandError, match="nothing was recorded"):
        call_command("create_study", folder, stdout=StringIO(), stderr=StringIO())
    assert LedgerEntry.objects.count() == 0


def test_every_problem_is_listed_at_once(folder):
    for change in (
        cell(TABLE, "gpu_count", "0"),
        cell(TABLE, "model", "x", line=3),
        cell(POOL, "observed_state", "?"),
        replace(STUDY, "slug: example-14b", "slug: _"),
        write("models/llama31-8b/config.json", "[]"),
    ):
        change(folder)
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("check_study", folder, stdout=out)
    files = [line.partition(":")[0] for line in out.getvalue().splitlines()]
    assert {STUDY, TABLE, POOL, "models/llama31-8b/config.json"} <= set(files)


def scheduled(text):
    def change(folder):
        study = (folder / STUDY).read_text()
        (folder / STUDY).write_text(study[: study.index("schedule:")])
        names = [line.split(",")[0] for line in (folder / TABLE).read_text().splitlines()[1:]]
        rows = [f"{name}-{seed},{name},{seed},,,," for seed in (1, 2, 3, 4, 5) for name in names]
        header = "experiment_id,configuration_id,seed,pair_id,period,device_ordinals,timeout_seconds"
        (folder / "schedule.csv").write_text("\n".join([header, *text(rows)]) + "\n")

    return change


FIRST = "qwen25-14b-math-short-1gpu-target"
SCHEDULES = [
    (lambda rows: rows[1:], f"rows is '{FIRST} without seeds [1]', expected a row for each seed"),
    (
        lambda rows: [rows[0].replace(",1,", ",9,"), *rows[1:]],
        "schedule.csv:2: seed is 9, expected one of [1, 2",
    ),
    (lambda rows: [*rows, rows[0].replace("-1,", "-again,", 1)], "expected each seed once"),
    (lambda rows: [rows[0] + "x", *rows[1:]], "timeout_seconds is 'x', expected a whole number"),
    (
        lambda rows: [rows[0].replace(",,,,", ",p,1,,"), *rows[1:]],
        "pair_id is 'p', expected two rows, periods",
    ),
    (lambda rows: [rows[0].replace(",,,,", ",p,,,"), *rows[1:]], "period is '', expected 1 or 2 in a pair"),
    (
        lambda rows: [rows[0].replace(",,,,", ",,,1;2,"), *rows[1:]],
        "device_ordinals is '1;2', expected 1 differ",
    ),
    (
        lambda rows: [rows[0].replace(f",{FIRST}", ",other"), *rows[1:]],
        "configuration_id is 'other', expected a",
    ),
]


@pytest.mark.parametrize(("text", "says"), SCHEDULES, ids=[says[:50] for _, says in SCHEDULES])
def test_a_broken_schedule_is_named(folder, text, says):
    scheduled(text)(folder)
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("check_study", folder, stdout=out)
    assert says in out.getvalue()


def test_a_schedule_of_ones_own_is_taken_in_its_order(folder):
    scheduled(lambda rows: rows)(folder)
    out = StringIO()
    call_command("check_study", folder, stdout=out)
    assert "slots: 80, pairs: 0" in out.getvalue()
    assert "unknown: slots have no time-out" in out.getvalue()


def test_a_broken_model_is_one_problem_not_one_for_each_row(folder):
    write(CONFIG, "{}")(folder)
    out = StringIO()
    with pytest.raises(CommandError, match="1 problem; nothing was changed"):
        call_command("check_study", folder, stdout=out)
    assert out.getvalue().startswith("models/qwen25-14b/config.json: model_type is missing")
