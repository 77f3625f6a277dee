"""Where an archive keeps what, and which studies it can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from studies.archive import hashes
from studies.archive.documents import Document, Root
from studies.archive.errors import ArchiveError
from studies.archive.hashes import CheckedFile, Declaration

POOL_SLUG = "rlvrambench"
CONFIGURATIONS = "benchmark/configurations.csv"
OUTCOMES = "benchmark/outcomes.csv"
METADATA = "benchmark/estimation/model_metadata.json"
QUERIES = "benchmark/queries.csv"
# The transfer suite's own manifest names it; no document of a study does.
QUERIES_SHA256 = "0f0cac66cb22681a2dc90145a7c34da1d08cbb865427fe4f4e3f08e2255917b8"
SOURCE_NAME = "RLVRAMBench"
SOURCE_AUTHORS = "Ondřej Kobza and Jan Šedivý"
SOURCE_LICENCE = "MIT"

_AMENDMENT = re.compile(r"amendment-([0-9]+)\.json")
# The one file that a seal names by role instead of by path.
_PREDICTOR = "memory_tuner/estimation_baselines.py"


@dataclass(frozen=True)
class Layout:
    """One study's place in an archive and our own words about it."""

    slug: str
    folder: str
    seal_name: str
    frozen_key: str
    title: str
    question: str
    parent: str = ""

    def path(self, name: str) -> str:
        """A file of the study, relative to the archive's root."""
        return f"{self.folder}/{name}"


ESTIMATION = Layout(
    slug="estimation",
    folder="benchmark/estimation",
    seal_name="prediction_freeze.json",
    frozen_key="frozen_at_utc",
    title="Memory estimation, seven-billion panel",
    question=(
        "Do model structure and configured work tell more about GPU memory than copying an earlier "
        "measurement? Three methods predict twelve settings of a larger model before any of them runs."
    ),
)
HOST_CAPACITY = Layout(
    slug="host-capacity",
    folder="benchmark/host_capacity",
    seal_name="study_freeze.json",
    frozen_key="specified_at_utc",
    title="Expanded host memory, follow-up",
    question=(
        "What do the same sealed predictions show when each allocation has 384 GiB of host memory instead "
        "of 192? Six of the twelve settings run again with new seeds, counted apart from the first panel."
    ),
    parent="estimation",
)
LAYOUTS = {layout.slug: layout for layout in (ESTIMATION, HOST_CAPACITY)}


@dataclass(frozen=True)
class Documents:
    """The documents of one study, read but not yet understood; the ones after the seal may be missing."""

    layout: Layout
    protocol: Document
    amendments: list[Document]
    seal: Document
    history: Document | None


def read_documents(root: Root, layout: Layout, *, with_history: bool = True) -> Documents:
    """Protocol, amendments in their order, seal, and history if there is one and it is asked for."""
    history = layout.path("execution_history.json")
    names = sorted(path.name for path in root.path(layout.folder).glob("amendment-*.json"))
    for number, name in enumerate(names, start=1):
        match = _AMENDMENT.fullmatch(name)
        if match is None or int(match[1]) != number:
            raise ArchiveError(
                f"{layout.path(name)}: unexpected amendment, expected number {number:02d} next"
            )
    return Documents(
        layout=layout,
        protocol=_document(root, layout.path("protocol.json")),
        amendments=[_document(root, layout.path(name)) for name in names],
        seal=_document(root, layout.path(layout.seal_name)),
        history=_document(root, history) if with_history and root.has(history) else None,
    )


def _document(root: Root, path: str) -> Document:
    return Document(path, root.document(path))


def check_hashes(root: Root, documents: Documents) -> list[CheckedFile]:
    """Every hash that the study's documents name, checked against the bytes present."""
    return hashes.check(root, declarations(root, documents))


def declarations(root: Root, documents: Documents) -> Iterable[Declaration]:
    """What the study's documents name by hash, oldest document first."""
    layout, protocol = documents.layout, documents.protocol
    folder = layout.folder + "/"
    own_protocol = layout.path("protocol.json")
    yield from _parent(protocol, layout)
    for key in ("input_sha256", "data_sha256", "implementation_sha256"):
        yield from hashes.named(protocol, key)
    for amendment in documents.amendments:
        yield from hashes.single(amendment, "base_protocol_sha256", own_protocol)
        yield from hashes.named(amendment, "implementation_sha256", may_replace=True)
        yield from hashes.named(amendment, "unchanged_inputs_verified_sha256")
    seal = documents.seal
    yield from hashes.single(seal, "protocol_sha256", own_protocol)
    yield from _parent(seal, layout)
    yield from hashes.named(seal, "amendments_sha256", folder)
    yield from hashes.named(seal, "effective_input_sha256")
    yield from hashes.single(seal, "implementation_sha256", _PREDICTOR)
    yield from hashes.named(seal, "files_sha256", folder)
    if documents.history is not None:
        yield from _history(documents.history, layout)
    manifest = layout.path("results/output_manifest.json")
    if root.has(manifest):
        yield from hashes.manifest(_document(root, manifest), layout.path("results/"))


def _history(history: Document, layout: Layout) -> Iterable[Declaration]:
    seal = layout.path(layout.seal_name)
    if layout.parent:
        yield from hashes.single(history, "protocol_sha256", layout.path("protocol.json"))
        yield from hashes.single(history, "matrix_sha256", layout.path("matrix.csv"))
        yield from hashes.single(history, "study_freeze_sha256", seal)
        yield from _parent(history, layout)
    else:
        yield from hashes.single(history, "original_protocol_sha256", layout.path("protocol.json"))
        yield from hashes.single(history, "prediction_seal_sha256", seal)


def _parent(document: Document, layout: Layout) -> Iterable[Declaration]:
    if layout.parent:
        parent = LAYOUTS[layout.parent]
        yield from hashes.single(document, "original_protocol_sha256", parent.path("protocol.json"))
        yield from hashes.single(document, "original_prediction_seal_sha256", parent.path(parent.seal_name))
