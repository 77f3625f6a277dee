"""Damaged archives: each is refused as a whole, with a message that names the place and what was expected."""

from __future__ import annotations

import json
import re

import pytest
from django.core.management import CommandError, call_command

from rlvram_site.ledger.models import LedgerEntry
from studies.models import Pool, Study
from tests.studies_archive.archives import ESTIMATION, HOST, Archive

pytestmark = pytest.mark.django_db

PROCESSES = f"{ESTIMATION}/results/processes.csv"


def refusal(archive: Archive) -> str:
    """Import the archive, which must fail and leave nothing behind; returns the message."""
    with pytest.raises(CommandError) as caught:
        call_command("import_study", str(archive.root), verbosity=0)
    assert (Pool.objects.count(), Study.objects.count(), LedgerEntry.objects.count()) == (0, 0, 0)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("benchmark/outcomes.csv", "benchmark/estimation/protocol.json"),
        (f"{ESTIMATION}/matrix.csv", "benchmark/estimation/protocol.json"),
        (f"{ESTIMATION}/protocol.json", "benchmark/estimation/amendment-01.json"),
        (f"{ESTIMATION}/amendment-01.json", "benchmark/estimation/prediction_freeze.json"),
        (f"{ESTIMATION}/predictions.json", "benchmark/estimation/prediction_freeze.json"),
        (f"{ESTIMATION}/prediction_freeze.json", "benchmark/estimation/execution_history.json"),
        (PROCESSES, "benchmark/estimation/results/output_manifest.json"),
        (f"{HOST}/targets.csv", "benchmark/host_capacity/study_freeze.json"),
        (f"{HOST}/results/costs.json", "benchmark/host_capacity/results/output_manifest.json"),
    ],
)
def test_a_changed_byte_in_a_hashed_file(archive, name, document):
    expected = archive.sha256(name)
    content = archive.path(name).read_bytes()
    archive.path(name).write_bytes(content[:-1] + b" \n")
    message = f"{name}: sha256 is {archive.sha256(name)}, expected {expected} as named in {document}"
    assert refusal(archive) == message


def test_a_document_that_names_another_hash_without_being_an_amendment(archive):
    def change(seal):
        seal["effective_input_sha256"]["memory_tuner/model_memory_metadata.py"] = "1" * 64

    archive.edit_json(f"{ESTIMATION}/prediction_freeze.json", change)
    archive.rehash()
    assert re.fullmatch(
        r"benchmark/estimation/prediction_freeze.json names memory_tuner/model_memory_metadata.py "
        r"with sha256 1+, expected \w{64} as in benchmark/estimation/protocol.json",
        refusal(archive),
    )


def test_an_amendment_bound_to_another_base(archive):
    archive.edit_json(
        f"{ESTIMATION}/amendment-01.json", lambda document: document.update(base_protocol_sha256="1" * 64)
    )
    assert refusal(archive) == (
        f"{ESTIMATION}/amendment-01.json names {ESTIMATION}/protocol.json with sha256 {'1' * 64}, expected "
        f"{archive.sha256(f'{ESTIMATION}/protocol.json')} as in {ESTIMATION}/prediction_freeze.json"
    )


def test_an_amendment_that_touches_a_frozen_key(archive):
    archive.edit_json(
        f"{ESTIMATION}/amendment-01.json", lambda document: document["updates"].update(device_capacity_mib=1)
    )
    archive.rehash()
    message = refusal(archive)
    assert "amendment-01.json: updates.device_capacity_mib is 1, expected a key open to amendment" in message
    assert message.endswith("device_capacity_mib is frozen")


def test_an_amendment_out_of_its_order(archive):
    archive.path(f"{ESTIMATION}/amendment-01.json").rename(archive.path(f"{ESTIMATION}/amendment-02.json"))
    assert "amendment-02.json: unexpected amendment, expected number 01 next" in refusal(archive)


def test_a_rule_that_is_not_implemented(archive):
    archive.edit_json(
        f"{ESTIMATION}/protocol.json", lambda document: document.update(donor_rule="whatever is nearest")
    )
    archive.rehash()
    assert "donor_rule is 'whatever is nearest', expected a rule that is implemented" in refusal(archive)


def test_a_duplicated_configuration(archive):
    archive.edit_table("benchmark/configurations.csv", lambda rows: [*rows, rows[4]])
    archive.rehash()
    message = refusal(archive)
    assert message.startswith("benchmark/configurations.csv line 214 column configuration_id: 'cfg-")
    assert message.endswith("expected each configuration_id once; it already stands in line 6")


def test_an_outcome_of_an_unknown_configuration(archive):
    archive.edit_table("benchmark/outcomes.csv", lambda rows: rows[0].update(configuration_id="cfg-unknown"))
    archive.rehash()
    assert refusal(archive) == (
        "benchmark/outcomes.csv line 2 column configuration_id: 'cfg-unknown', expected a configuration of "
        "benchmark/configurations.csv"
    )


def test_a_slot_of_an_unknown_configuration(archive):
    archive.edit_table(
        f"{ESTIMATION}/matrix.csv", lambda rows: rows[0].update(configuration_id="est-unknown")
    )
    archive.rehash()
    assert refusal(archive) == (
        f"{ESTIMATION}/matrix.csv line 2 column configuration_id: 'est-unknown', expected a configuration of "
        f"{ESTIMATION}/targets.csv"
    )


def test_a_slot_with_other_settings_than_its_configuration(archive):
    archive.edit_table(f"{ESTIMATION}/matrix.csv", lambda rows: rows[0].update(rollout_n="3"))
    archive.rehash()
    assert "matrix.csv line 2 column rollout_n: '3', expected '2' as in its configuration" in refusal(archive)


def test_a_label_beyond_the_three(archive):
    archive.edit_table("benchmark/outcomes.csv", lambda rows: rows[2].update(observed_state="nearly_fine"))
    archive.rehash()
    assert refusal(archive) == (
        "benchmark/outcomes.csv line 4 column observed_state: 'nearly_fine', expected one of within_margin, "
        "above_margin, memory_failure, not_repeated"
    )


def test_a_prediction_of_a_label_beyond_the_three(archive):
    archive.edit_json(
        f"{ESTIMATION}/predictions.json", lambda rows: rows[1].update(predicted_state="unresolved")
    )
    archive.rehash()
    message = refusal(archive)
    assert message.startswith(f"{ESTIMATION}/predictions.json[1]: ")
    assert (
        "predicted_state is 'unresolved', expected one of within_margin, above_margin, memory_failure"
        in message
    )


def test_an_unresolved_row_offered_as_truth(archive):
    """A slot that establishes nothing cannot be eligible."""
    archive.edit_table(PROCESSES, lambda rows: rows[0].update(eligible="True"))
    archive.rehash()
    assert refusal(archive) == (
        f"{PROCESSES} line 2 column state: 'unresolved', expected one of the three labels, as eligible says"
    )


def test_an_unresolved_pool_configuration_offered_for_fitting(archive):
    """The fitting pool takes no configuration without a label."""
    permitted = json.loads(archive.text(f"{ESTIMATION}/protocol.json"))["source_configuration_ids"]

    def change(rows):
        row = next(row for row in rows if row["configuration_id"] == permitted[0])
        row.update(observed_state="not_repeated")

    archive.edit_table("benchmark/outcomes.csv", change)
    archive.rehash()
    message = refusal(archive)
    assert permitted[0] in message
    assert (
        "observed_state is 'not_repeated', expected one of within_margin, above_margin, memory_failure"
        in message
    )


@pytest.mark.parametrize("column", ["parameter_offload", "optimizer_offload", "free_cache_engine"])
def test_a_blank_boolean_where_a_rule_reads_it(archive, column):
    archive.edit_table("benchmark/configurations.csv", lambda rows: rows[7].update({column: ""}))
    archive.rehash()
    assert (
        refusal(archive) == f"benchmark/configurations.csv line 9 column {column}: '', expected True or False"
    )


def test_a_target_without_a_donor(archive):
    def change(rows):
        for row in rows:
            if row["workload_id"] == "math" and row["configuration_level"] == "c2":
                row["workload_id"] = "poetry"

    archive.edit_table(f"{ESTIMATION}/targets.csv", change)
    archive.rehash()
    message = refusal(archive)
    assert re.search(
        r"est-qwen25-7b-math-c2-\dgpu: donor is None, "
        r"expected a fitting configuration with workload poetry and level c2",
        message,
    )


def test_a_target_inside_the_pool(archive):
    target = "est-qwen25-7b-math-c2-2gpu"

    def first_target(rows):
        row = next(row for row in rows if row["study"] == "boundary")
        return [*rows, row | {"configuration_id": target}]

    archive.edit_table("benchmark/configurations.csv", first_target)
    archive.edit_table("benchmark/outcomes.csv", lambda rows: [*rows, rows[0] | {"configuration_id": target}])
    archive.rehash()
    message = refusal(archive)
    assert message.startswith(f"{ESTIMATION}/targets.csv line ")
    assert message.endswith(
        f"column configuration_id: '{target}', "
        "expected a configuration outside the pool (benchmark/configurations.csv)"
    )


def test_a_target_that_the_protocol_does_not_plan(archive):
    archive.edit_table(f"{ESTIMATION}/targets.csv", lambda rows: rows[0].update(configuration_id="est-other"))
    archive.rehash()
    assert "configuration_id is 'est-other', expected a target of the protocol" in refusal(archive)


@pytest.mark.parametrize("value", ["nan", "inf", "1e999", ""])
def test_a_share_that_is_not_finite(archive, value):
    archive.edit_table(
        f"{ESTIMATION}/targets.csv", lambda rows: rows[0].update(vllm_gpu_memory_utilization=value)
    )
    archive.rehash()
    assert refusal(archive) == (
        f"{ESTIMATION}/targets.csv line 2 column vllm_gpu_memory_utilization: {value!r}, "
        "expected a finite number"
    )


def test_a_count_that_no_volume_can_be_made_of(archive):
    model = "Qwen/Qwen2.5-7B-Instruct"
    archive.edit_json(
        f"{ESTIMATION}/model_metadata.json",
        lambda models: models[model].update(floating_checkpoint_elements=10**200),
    )
    archive.rehash()
    message = refusal(archive)
    assert message.startswith(f"{ESTIMATION}/model_metadata.json {model} floating_checkpoint_elements: 1000")
    assert message.endswith("expected a whole number of at most 18 digits")


def test_a_batch_that_the_devices_cannot_share(archive):
    """Each volume is computed before anything is recorded."""

    def change(rows):
        for row in rows:
            row["rollout_n"] = "3"
            row["train_batch_size"] = "33"

    archive.edit_table(f"{ESTIMATION}/targets.csv", change)
    archive.edit_table(f"{ESTIMATION}/matrix.csv", change)
    archive.rehash()
    assert "train_batch_size × rollout_n is 99, expected a multiple of gpu_count 2" in refusal(archive)


def test_a_missing_column(archive):
    archive.edit_table(
        "benchmark/outcomes.csv", lambda rows: [row for row in rows if row.pop("excluded_attempts")]
    )
    archive.rehash()
    assert refusal(archive) == "benchmark/outcomes.csv line 1 column excluded_attempts: missing"


def test_an_unknown_column(archive):
    archive.edit_table(f"{ESTIMATION}/matrix.csv", lambda rows: [row | {"mood": "1"} for row in rows])
    archive.rehash()
    assert refusal(archive).startswith(
        f"{ESTIMATION}/matrix.csv line 1 column mood: unknown, expected experiment_id"
    )


def test_a_column_that_stands_twice(archive):
    archive.replace("benchmark/outcomes.csv", "excluded_attempts", "recorded_attempts")
    archive.rehash()
    assert (
        refusal(archive)
        == "benchmark/outcomes.csv line 1 column recorded_attempts: stands 2 times, expected once"
    )


def test_a_row_that_is_cut_off(archive):
    archive.path("benchmark/outcomes.csv").write_bytes(
        archive.path("benchmark/outcomes.csv").read_bytes()[:-40]
    )
    archive.rehash()
    assert re.fullmatch(
        r"benchmark/outcomes.csv line 213: \d+ cells, expected the header's 14", refusal(archive)
    )


def test_a_table_that_is_not_text(archive):
    archive.path("benchmark/outcomes.csv").write_bytes(b"configuration_id\xff\xfe")
    archive.rehash()
    assert refusal(archive) == "benchmark/outcomes.csv: byte 16 is not UTF-8, expected UTF-8 text"


def test_a_slot_without_a_row_in_the_results(archive):
    archive.edit_table(PROCESSES, lambda rows: rows[1:])
    archive.rehash()
    assert re.fullmatch(
        rf"{PROCESSES}: no row for est-\S+, expected one for every planned slot", refusal(archive)
    )


def test_a_result_of_a_slot_that_was_not_planned(archive):
    archive.edit_table(PROCESSES, lambda rows: rows[3].update(experiment_id="est-extra"))
    archive.rehash()
    assert f"{PROCESSES} line 5 column experiment_id: 'est-extra', expected a slot of" in refusal(archive)


def test_a_peak_that_contradicts_its_state(archive):
    archive.edit_table(
        PROCESSES,
        lambda rows: rows[0].update(
            state="within_margin", eligible="True", completed="True", completed_peak_mib="38912.5"
        ),
    )
    archive.rehash()
    assert refusal(archive) == (
        f"{PROCESSES} line 2 column state: 'within_margin', expected the state of a peak of 38912.5 MiB at a "
        "margin of 38912 MiB"
    )


def test_a_prediction_missing_for_a_target(archive):
    archive.edit_json(f"{ESTIMATION}/predictions.json", lambda rows: rows[3:])
    archive.rehash()
    assert "expected a prediction for each configuration" in refusal(archive)


def test_a_follow_up_with_other_predictions_than_its_parent(archive):
    def change(rows):
        row = next(row for row in rows if row["method"] == "donor_copy")
        row["predicted_peak_mib"] += 1

    archive.edit_json(f"{HOST}/predictions.json", change)
    archive.rehash()
    assert re.fullmatch(
        r"study host-capacity: donor_copy on host-\S+ is not the sealed prediction of est-\S+",
        refusal(archive),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", f"{ESTIMATION}/protocol.json line 1 column 2: "),
        (
            '{"a": 1, "a": 2}',
            f"{ESTIMATION}/protocol.json: key 'a' stands twice in one object, expected once",
        ),
        ('{"a": NaN}', f"{ESTIMATION}/protocol.json: NaN is not a number, expected a finite number or null"),
        ("[]", f"{ESTIMATION}/protocol.json: a list, expected a JSON object"),
        ("[" * 100_000, f"{ESTIMATION}/protocol.json: objects and lists nested too deeply"),
    ],
)
def test_a_protocol_that_is_no_document(archive, text, message):
    archive.path(f"{ESTIMATION}/protocol.json").write_text(text)
    assert refusal(archive).startswith(message)


def test_a_hash_that_is_none(archive):
    archive.edit_json(
        f"{ESTIMATION}/prediction_freeze.json",
        lambda seal: seal["files_sha256"].update({"predictions.json": "abc"}),
    )
    assert (
        "files_sha256.predictions.json: 'abc', expected a sha256 of 64 lower-case hexadecimal digits"
        in refusal(archive)
    )


def test_a_named_file_outside_the_archive(archive):
    archive.edit_json(
        f"{ESTIMATION}/prediction_freeze.json",
        lambda seal: seal["files_sha256"].update({"../../../x": "1" * 64}),
    )
    assert "leads out of the archive, expected a path inside it" in refusal(archive)


def test_a_time_without_a_zone(archive):
    archive.edit_json(
        f"{ESTIMATION}/protocol.json", lambda document: document.update(frozen_at_utc="2026-09-15T13:33:20")
    )
    archive.rehash()
    assert "frozen_at_utc: '2026-09-15T13:33:20' has no zone, expected a time in ISO 8601" in refusal(archive)
