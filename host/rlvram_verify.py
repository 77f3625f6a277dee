#!/usr/bin/env python3
"""Check an exported ledger without its site: ``rlvram-verify FILE [--heads HEADS]``.

This is one file on Python's standard library, written from ``docs/ledger-format.md``. It shares no
code with the site that made the export. Each line that it prints is one statement and begins with

    ok      it holds
    note    it is so, and proves nothing by itself
    FAILED  it does not hold

It exits with 0 if nothing failed, 1 if something did, and 2 if the file can't be read as an export.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict

FORMAT, HEADS_FORMAT, SEAL_FORMAT = "rlvram-ledger/1", "rlvram-heads/1", "rlvram-seal/2"
LINK = ("stream", "sequence", "record_type", "record_id", "payload_sha256", "previous_sha256", "actor",
        "recorded_at")  # fmt: skip
OUTCOMES = ("completed", "memory_failure")


class Unreadable(Exception):
    """The file is no export; the text says where and what was expected."""


class Report:
    """Prints statements and remembers whether one failed."""

    def __init__(self, write=print):
        self.write, self.failed = write, 0

    def ok(self, text):
        self.write(f"ok      {text}")

    def note(self, text):
        self.write(f"note    {text}")

    def fail(self, text):
        self.failed += 1
        self.write(f"FAILED  {text}")

    def check(self, holds, text, otherwise=""):
        """One statement that holds, or its opposite."""
        if holds:
            self.ok(text)
        else:
            self.fail(otherwise or f"not so: {text}")


# --- Digests ----------------------------------------------------------------------------------------------


def digest(value):
    """sha256 of JSON with sorted keys, without spaces, text as it is: how everything here is digested."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _once(pairs):
    """An object in which no key comes twice; a second one could hide what was digested."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _constant(name):
    raise ValueError(f"{name} is no number of JSON")


def parse(text):
    """JSON without repeated keys, NaN or infinities."""
    return json.loads(text, object_pairs_hook=_once, parse_constant=_constant)


# --- Reading ----------------------------------------------------------------------------------------------


def read_export(path):
    """The links of each stream, in the file's order. Raises ``Unreadable``."""
    streams = defaultdict(list)
    try:
        with open(path, encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                place = f"{path}, line {number}"
                try:
                    entry = parse(text)
                except (ValueError, RecursionError) as error:
                    raise Unreadable(f"{place}: {error}") from None
                if number == 1:
                    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
                        raise Unreadable(f'{place}: expected an object with "format": "{FORMAT}"')
                    continue
                _require_link(entry, place)
                streams[entry["stream"]].append(entry)
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path}: {error}") from None
    if not streams:
        raise Unreadable(f"{path}: expected at least one link")
    return dict(streams)


def _require_link(entry, place):
    wanted = dict.fromkeys((*LINK, "sha256"), str) | {"sequence": int, "record_id": int, "row": dict}
    for name, kind in wanted.items():
        if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
            raise Unreadable(f"{place}: expected {name} as {kind.__name__}")


def read_heads(path):
    """Heads that somebody kept outside the site. Raises ``Unreadable``."""
    try:
        with open(path, encoding="utf-8") as file:
            document = parse(file.read())
        if document["format"] != HEADS_FORMAT:
            raise ValueError(f"expected format {HEADS_FORMAT}")
        return [(item["stream"], item["sequence"], item["sha256"]) for item in document["heads"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"{path}: no file of kept heads: {error}") from None


# --- The chain --------------------------------------------------------------------------------------------


def check_chain(report, stream, links):
    """Each link follows from the one before, and each row is the one that its link names."""
    previous, seen = "", set()
    for number, link in enumerate(links, 1):
        problem = ""
        if link["sequence"] != number:
            problem = f"is numbered {link['sequence']}"
        elif link["previous_sha256"] != previous:
            problem = "does not name the link before it"
        elif digest(link["row"]) != link["payload_sha256"]:
            problem = f"names other content than {link['record_type']} {link['record_id']} has"
        elif digest({name: link[name] for name in LINK}) != link["sha256"]:
            problem = "has another digest than what it says"
        elif (link["record_type"], link["record_id"]) in seen:
            problem = f"names {link['record_type']} {link['record_id']} a second time"
        if problem:
            report.fail(f"chain {stream}: link {number} {problem}")
            return False
        previous = link["sha256"]
        seen.add((link["record_type"], link["record_id"]))
    report.ok(f"chain {stream}: {len(links)} links and rows, head {previous}")
    return True


def check_heads(report, streams, heads):
    """The export still contains what was kept earlier."""
    for stream, sequence, sha256 in heads:
        if stream not in streams or sequence == 0:
            report.note(f"head {stream} {sequence}: not in this export")
            continue
        links = streams[stream]
        if len(links) < sequence:
            report.fail(f"head {stream}: {len(links)} links, the kept head has {sequence}: history was cut")
        else:
            report.check(
                links[sequence - 1]["sha256"] == sha256,
                f"head {stream}: link {sequence} is the kept one",
                f"head {stream}: link {sequence} is not the kept one: history was rewritten",
            )


# --- A study ----------------------------------------------------------------------------------------------


class Study:
    """The rows of one study's stream by type, each with its place (``sequence``) and its ``id``."""

    def __init__(self, stream, links):
        self.stream = stream
        self.rows = defaultdict(list)
        for link in links:
            kind = link["record_type"].removeprefix("studies.")
            self.rows[kind].append({**link["row"], "place": link["sequence"], "id": link["record_id"]})
        self.protocol = next(iter(self.rows["protocol"]), None)
        self.attempts = self.rows["attempt"]
        self.launch = _first(self.attempts + self.rows["nonlaunch"])
        self.outcome = _first([row for row in self.attempts if row["outcome"] in OUTCOMES])
        panels = {row["id"] for row in self.rows["predictionset"] if row["kind"] == "panel"}
        seals = [row for row in self.rows["seal"] if row["prediction_set_id"] in panels]
        self.seal = seals[0] if seals else None
        self.panel = self.seal["prediction_set_id"] if self.seal else max(panels, default=None)

    def document(self):
        """The base protocol with its amendments in order."""
        held = dict(self.protocol["document"]) if self.protocol else {}
        for row in sorted(self.rows["amendment"], key=lambda row: row["number"]):
            held.update(row["updates"])
        return held


def _first(rows):
    return min((row["place"] for row in rows), default=None)


def check_seal(report, study, streams):
    """The seal stands before the first outcome, over all predictions, and binds what it says."""
    name, seal = study.stream, study.seal
    if seal is None:
        report.note(f"seal {name}: nothing is sealed")
        return
    place = seal["place"]
    report.check(
        study.outcome is None or place < study.outcome,
        f"seal {name}: record {place}, before the first outcome ({study.outcome or 'none yet'})",
        f"seal {name}: record {place} comes after the first outcome, record {study.outcome}",
    )
    if study.launch is None or place < study.launch:
        report.ok(f"seal {name}: before the first launch ({study.launch or 'none yet'})")
    else:  # a launch without an outcome tells nothing about any target
        report.note(f"seal {name}: record {place} comes after the first launch, record {study.launch}")
    late = [row for row in study.rows["prediction"]
            if row["prediction_set_id"] == study.panel and row["place"] > place]  # fmt: skip
    report.check(not late, f"seal {name}: no prediction was added to it afterwards",
                 f"seal {name}: {len(late)} predictions were added to it afterwards")  # fmt: skip
    report.check(len(study.rows["seal"]) == 1, f"seal {name}: there is one",
                 f"seal {name}: there are {len(study.rows['seal'])} seals")  # fmt: skip
    _check_documents(report, study, seal)
    if seal.get("bound") is None:
        report.note(f"seal {name}: binds documents by hash, not the rows of plan and pool")
    else:
        _check_bound(report, study, seal, streams)
    _check_clocks(report, study, seal)


def _check_documents(report, study, seal):
    """Protocol and amendments are those that the seal names by sha256."""
    name = study.stream
    protocol = study.protocol or {"place": 0, "sha256": ""}
    report.check(
        0 < protocol["place"] < seal["place"]
        and protocol["sha256"] == seal["protocol_sha256"],
        f"seal {name}: names the protocol that was frozen before it",
        f"seal {name}: names another protocol than the one that was frozen before it",
    )  # fmt: skip
    earlier = sorted(row["sha256"] for row in study.rows["amendment"] if row["place"] < seal["place"])
    report.check(
        sorted(seal["amendments_sha256"].values()) == earlier,
        f"seal {name}: names the {len(earlier)} amendments before it",
        f"seal {name}: names other amendments than the {len(earlier)} before it",
    )


def _check_bound(report, study, seal, streams):
    """A seal made by the site: its own digest, and those of all rows that it rests on."""
    name, bound = study.stream, seal["bound"]
    keys = ("protocol_sha256", "amendments_sha256", "input_sha256", "output_sha256", "sealed_at", "bound")
    report.check(digest({key: seal[key] for key in keys}) == seal["sha256"],
                 f"seal {name}: its sha256 is that of what it says")  # fmt: skip
    if bound.get("format") != SEAL_FORMAT:
        report.fail(f"seal {name}: format {bound.get('format')!r}, expected {SEAL_FORMAT}")
        return
    ends = {}
    for end in bound["heads"]:
        stream, sequence = end["stream"], end["sequence"]
        ends[stream] = sequence
        if stream not in streams:
            report.note(f"seal {name}: {stream} is not in this export")
            continue
        link = next((item for item in streams[stream] if item["sequence"] == sequence), None)
        report.check(link is not None and link["sha256"] == end["sha256"],
                     f"seal {name}: rests on {stream} as it was at record {sequence}")  # fmt: skip
    report.check(ends.get(name) == seal["place"] - 1,
                 f"seal {name}: nothing was recorded between what it binds and itself")  # fmt: skip
    for item in bound["rows"]:
        stream = item["stream"]
        if stream not in streams:
            continue
        digests = [link["payload_sha256"] for link in streams[stream]
                   if link["record_type"] == item["record_type"]
                   and link["sequence"] <= ends.get(stream, 0)]  # fmt: skip
        report.check(digest(digests) == item["sha256"] and len(digests) == item["rows"],
                     f"seal {name}: binds {item['rows']} rows of {stream}: {item['name']}")  # fmt: skip


def _check_clocks(report, study, seal):
    """No attempt that was recorded after the seal says of itself that it ran before it."""
    sealed = seal["sealed_at"]
    early = [row["invocation_id"] for row in study.attempts if row["place"] > seal["place"]
             and any(row.get(key) and row[key] < sealed for key in ("started_at", "ended_at"))]  # fmt: skip
    report.check(
        not early,
        f"clocks {study.stream}: no attempt says that it ran before the seal",
        f"clocks {study.stream}: recorded after the seal, but by its own clock before it: {', '.join(early)}",
    )


def check_protocol(report, study):
    """Whose word the protocol's hash is, and what each change after the freeze has to be called."""
    protocol, name = study.protocol, study.stream
    if protocol is None:
        report.note(f"protocol {name}: none is frozen")
        return
    if protocol["source_path"] == "recorded here":
        report.check(digest(protocol["document"]) == protocol["sha256"],
                     f"protocol {name}: its sha256 is that of its document")  # fmt: skip
    else:
        report.note(f"protocol {name}: sha256 {protocol['sha256']} is its source's word; compare it there")
    for row in sorted(study.rows["amendment"], key=lambda row: row["place"]):
        word = "amendment"
        if study.outcome is not None and study.outcome < row["place"]:
            word = "deviation"
        elif study.launch is not None and study.launch < row["place"]:
            word = "amendment after launch"
        report.check(
            row["base_sha256"] == protocol["sha256"],
            f"amendment {name}: number {row['number']} is bound to the protocol and is called {word}",
            f"amendment {name}: number {row['number']} is bound to another protocol",
        )


# --- Labels and approvals ---------------------------------------------------------------------------------


def slot_outcomes(study):
    """What counts for each slot, by its id: the first permitted outcome that is not excluded, or None.

    A corrected entry stands in the place of the one that it supersedes, which counts nowhere, and keeps what
    was said of that one's exclusion.
    """
    cap = study.protocol["document"].get("resource_cap") or {}
    retries, permitted = cap.get("retries"), study.protocol["document"].get("launches_per_slot")
    if retries is not None:
        permitted = retries + 1
    spent = {row["slot_id"] for row in study.rows["nonlaunch"]} if cap.get("requeue") is False else set()
    by_id = {row["id"]: row for row in study.attempts}
    corrected = {row["supersedes_id"] for row in study.attempts if row.get("supersedes_id") is not None}
    said = defaultdict(list)
    for row in study.rows["exclusion"]:
        said[row["attempt_id"]].append(row)

    def chain(row):
        found = [row]
        while found[-1].get("supersedes_id") is not None and found[-1]["supersedes_id"] in by_id:
            found.append(by_id[found[-1]["supersedes_id"]])
        return found

    def place(row):
        here = row["id"]
        for before in chain(row):
            if before.get("slot_id") != row.get("slot_id"):
                break
            here = before["id"]
        return here, row["id"]

    def excluded(row):
        newest = max((x for one in chain(row) for x in said[one["id"]]), key=lambda x: x["id"], default=None)
        return newest is not None and not newest["lifted"]

    found = {}
    for slot in study.rows["seedslot"]:
        tries = sorted((row for row in study.attempts if row.get("slot_id") == slot["id"]), key=place)
        standing = [row for row in tries if row["id"] not in corrected]
        if permitted is not None:
            standing = standing[: max(permitted - (slot["id"] in spent), 0)]
        found[slot["id"]] = next(
            (row for row in standing if row["outcome"] in OUTCOMES and not excluded(row)), None
        )
    return found


def labels(study):
    """Each configuration's label, by its id; None while a slot of it is unresolved."""
    margin, outcomes = study.document()["memory_margin_limit_mib"], slot_outcomes(study)
    slots = defaultdict(list)
    for slot in study.rows["seedslot"]:
        slots[slot["configuration_id"]].append(outcomes[slot["id"]])
    return {row["id"]: _label(slots[row["id"]], margin) for row in study.rows["configuration"]}


def _label(outcomes, margin):
    if not outcomes or None in outcomes:
        return None
    if any(row["outcome"] == "memory_failure" for row in outcomes):
        return "memory_failure"
    return "above_margin" if max(row["peak_mib"] for row in outcomes) > margin else "within_margin"


def check_scores(report, study):
    """Labels from outcomes, approvals from predictions, both against the newest recorded evaluation."""
    if study.protocol is None or "memory_margin_limit_mib" not in study.document():
        report.note(f"labels {study.stream}: no protocol states a margin")
        return
    known = labels(study)
    resolved = {pk: label for pk, label in known.items() if label is not None}
    kinds = ", ".join(
        f"{list(resolved.values()).count(kind)} {kind}" for kind in sorted(set(resolved.values()))
    )
    report.ok(f"labels {study.stream}: {len(resolved)} of {len(known)} configurations resolved"
              + (f": {kinds}" if kinds else ""))  # fmt: skip
    counted: dict[str, list[int]] = {}
    for row in study.rows["prediction"]:
        if row["prediction_set_id"] == study.panel:
            counts = counted.setdefault(row["method"], [0, 0, 0])
            approves = row["label"] == "within_margin"
            label = known.get(row["configuration_id"])
            counts[0] += approves
            counts[1] += approves and label is None
            counts[2] += label is not None and label == row["label"]
    for method, (approved, unscored, correct) in counted.items():
        report.ok(f"approvals {study.stream}: {method} approves {approved}, {unscored} of them unscored; "
                  f"{correct} of {len(resolved)} resolved right")  # fmt: skip
    _check_evaluation(report, study, counted, len(resolved))


def _check_evaluation(report, study, counted, resolved):
    evaluations = [row for row in study.rows["evaluation"] if row["prediction_set_id"] == study.panel]
    later = max((row["place"] for kind in ("attempt", "exclusion", "nonlaunch", "amendment")
                 for row in study.rows[kind]), default=0)  # fmt: skip
    if not evaluations or evaluations[-1]["place"] < later:
        report.note(f"evaluation {study.stream}: none is recorded of what is known now")
        return
    result = evaluations[-1]["result"]
    found = {
        method: [
            item["full_panel_approved_configurations"],
            item["unscored_approved_configurations"],
            result["resolved_subset_metrics"][method]["correct_three_state"],
        ]
        for method, item in result["approvals"].items()
    }
    report.check(
        found == counted and result["resolved_configurations"] == resolved,
        f"evaluation {study.stream}: record {evaluations[-1]['place']} has the same counts",
        f"evaluation {study.stream}: record {evaluations[-1]['place']} has other counts: {found}",
    )


# --- All of it --------------------------------------------------------------------------------------------


def verify(streams, heads, report):
    """Every statement about an export. Rules are read only from streams whose chain holds."""
    whole = {stream for stream, links in streams.items() if check_chain(report, stream, links)}
    check_heads(report, streams, heads)
    for stream, links in streams.items():
        if stream in whole and stream.startswith("study/"):
            study = Study(stream, links)
            check_protocol(report, study)
            check_seal(report, study, streams)
            check_scores(report, study)


def main(arguments=None):
    """The command. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="rlvram-verify", description=__doc__.splitlines()[0])
    parser.add_argument("file", help="what export_ledger wrote")
    parser.add_argument("--heads", help="heads kept earlier, by verify_ledger --export-heads")
    chosen = parser.parse_args(arguments)
    report = Report()
    try:
        streams = read_export(chosen.file)
        heads = read_heads(chosen.heads) if chosen.heads else []
        verify(streams, heads, report)
    except Unreadable as error:
        print(f"rlvram-verify: {error}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        report.fail(
            f"a row has not the form that docs/ledger-format.md gives: {type(error).__name__} {error}"
        )
    print(f"{'FAILED' if report.failed else 'passed'}: {report.failed} statements do not hold")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
