"""A study in steps: study, models, configurations, protocol, check. Its texts are the files of a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from rlvram_site.api.keys import Scope
from rlvram_site.api.permissions import scopes_of_person
from rlvram_site.tables.paging import page_of
from studies.checkpoints.architecture import CONFIG
from studies.directory import configurations, matrix, protocol_file, schedule_table, study_file
from studies.directory.files import MAX_BYTES, read_archive
from studies.directory.problems import Problem, Problems
from studies.directory.summary import summary
from studies.models import StudyDraft
from studies.services.errors import ServiceError
from studies.services.plan import creating, study_drafts
from studies.text.words import counted, sentence

PER_PAGE = 25
MAX_TEXT = 2 * 1024 * 1024
MODELS = "models"
STEPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "study": ("Study", (study_file.NAME,)),
    MODELS: ("Models", ()),
    "configurations": (
        "Configurations",
        (matrix.NAME, configurations.NAME, configurations.POOL_NAME, schedule_table.NAME),
    ),
    "protocol": ("Protocol", (protocol_file.NAME,)),
}
HINTS = {
    study_file.NAME: "What the study is, which models it has, how its slots are made.",
    matrix.NAME: "Models, workloads, levels and GPU counts, from which the table below can be made.",
    configurations.NAME: "One row for each setting to be run.",
    configurations.POOL_NAME: "Settings measured earlier, with their outcomes; leave it empty to learn "
    "from a pool that the site has.",
    schedule_table.NAME: "Slots in your own order; leave it empty to have them drawn from order_seed.",
    protocol_file.NAME: "The rules. They are frozen when the study is recorded.",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")


@dataclass(frozen=True)
class Step:
    """One step with what is still wrong in its files."""

    name: str
    title: str
    problems: list[Problem]


@dataclass(frozen=True)
class Text:
    """One file as a text to be changed."""

    path: str
    hint: str
    text: str
    rows: int


class ModelForm(forms.Form):
    """A model's folder: its name in the tables, and its ``config.json`` as file or text."""

    name = forms.CharField(label="Folder's name, as the tables say it", max_length=100)
    file = forms.FileField(label="config.json, or a header file", required=False, allow_empty_file=True)
    text = forms.CharField(
        label="Or the text of config.json", required=False, strip=False, max_length=256 * 1024,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )  # fmt: skip

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if not _NAME.fullmatch(name):
            raise forms.ValidationError("Letters, digits and . _ + - with a letter or digit first.")
        return name

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if bool(values.get("file")) == bool(values.get("text", "").strip()):
            self.add_error("file", "Either a file or a text.")
        return values

    @property
    def sent_files(self) -> dict[str, bytes]:
        """What was sent, by path."""
        values = self.cleaned_data
        file = values["file"]
        place = f"{MODELS}/{values['name']}"
        return (
            {f"{place}/{file.name}": file.read()} if file else {f"{place}/{CONFIG}": values["text"].encode()}
        )


NOT_ALLOWED = "Beginning a study is for staff, and for people to whom staff granted it."


def may_begin(user: Any) -> bool:
    """Whether somebody may begin studies: staff, and people with a grant."""
    return Scope.STUDIES in scopes_of_person(user)


def _require(request: HttpRequest) -> None:
    if not may_begin(request.user):
        raise PermissionDenied(NOT_ALLOWED)


def _draft(request: HttpRequest, pk: int) -> StudyDraft:
    _require(request)
    return get_object_or_404(study_drafts.visible_to(request.user), pk=pk)


def drafts(request: HttpRequest) -> HttpResponse:
    """The drafts that the person sees, and the ways to begin one: an example or an uploaded folder."""
    _require(request)
    problems: Sequence[Problem] = []
    if request.method == "POST":
        found = Problems()
        files = _sent(request, found)
        if not found:
            try:
                return redirect(study_drafts.begin(request.user, files))
            except ServiceError as error:
                found.add("archive", None, "draft", str(error), "room for one more")
        problems = found.all
    page = page_of(request, study_drafts.visible_to(request.user), PER_PAGE)
    context = {"page": page, "problems": problems, "most": MAX_BYTES // 1024**2}
    return render(request, "studies/drafts.html", context, status=422 if problems else 200)


def _sent(request: HttpRequest, problems: Problems) -> dict[str, bytes]:
    if "example" in request.POST:
        return study_drafts.example_files()
    file = request.FILES.get("archive")
    if file is None:
        problems.add("archive", None, "file", None, "a zip archive of a study's folder")
        return {}
    if (file.size or 0) > MAX_BYTES:
        problems.add("archive", None, "size", file.size, f"at most {MAX_BYTES:,} bytes")
        return {}
    return read_archive(file, problems)


def draft(request: HttpRequest, pk: int) -> HttpResponse:
    """The check: every step with its problems, or what would be recorded, and the button that freezes it."""
    found = _draft(request, pk)
    directory, problems = study_drafts.check(found)
    return _page(
        request, found, "check", problems,
        lines=summary(directory) if directory else [],
        sentence=_sentence(found, problems),
    )  # fmt: skip


def _sentence(found: StudyDraft, problems: Sequence[Problem]) -> str:
    if found.study is not None:
        return "This draft was recorded as a study; its texts stay here as they were."
    if problems:
        return sentence(f"{counted(len(problems), 'thing')} to mend before this can be recorded.")
    return "Nothing is missing: this can be recorded, and its protocol frozen."


def step(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """One step's texts. Saving keeps them whatever they say; what is wrong is listed above them."""
    found = _draft(request, pk)
    title, paths = STEPS[name]
    problem = ""
    sent: Mapping[str, str] = {}
    form = ModelForm()
    if request.method == "POST":
        try:
            version = int(request.POST.get("version", "")[:9])
            changes: dict[str, bytes | None]
            if name == MODELS:
                form = ModelForm(request.POST, request.FILES)
                changes = _model_changes(request, form)
            else:
                sent = {path: request.POST.get(path, "") for path in paths}
                changes = {path: _kept(text) for path, text in sent.items()}
                if "expand" in request.POST:
                    changes[configurations.NAME] = _expanded(changes.get(matrix.NAME) or b"")
            if changes:
                study_drafts.save_files(found, version, changes)
                messages.success(request, "Saved.")
                return redirect(request.path)
        except ValueError:
            problem = "The page was sent without its version; open it again."
        except ServiceError as error:
            problem = sentence(f"{error}.")
    files = study_drafts.files_of(found)
    _, problems = study_drafts.check(found)
    texts = [_text(path, files.get(path, b""), sent.get(path)) for path in paths]
    return _page(
        request, found, name, problems,
        texts=texts, problem=problem, form=form, models=_models(files),
        sentence=f"{title}: {HINTS[paths[0]] if paths else 'each has a folder with its config.json.'}",
        status=422 if problem or form.errors else 200,
    )  # fmt: skip


def _expanded(content: bytes) -> bytes:
    """The table of configurations that a matrix stands for. Raises ``ServiceError`` with all its problems."""
    problems = Problems()
    with creating.as_folder({matrix.NAME: content}) as folder:
        text = matrix.read_matrix(folder, problems)
    if problems:
        raise ServiceError("; ".join(map(str, problems.all)))
    return text.encode()


def _kept(text: str) -> bytes | None:
    """A text as it is kept: line ends as files have them, and an empty one not at all."""
    text = text.replace("\r\n", "\n")
    return text.encode("utf-8", "replace") if text.strip() else None


def _model_changes(request: HttpRequest, form: ModelForm) -> dict[str, bytes | None]:
    away = request.POST.get("remove", "")
    if away:
        return {away: None}
    return dict(form.sent_files) if form.is_valid() else {}


def _text(path: str, content: bytes, sent: str | None) -> Text:
    text = content.decode("utf-8", "replace") if sent is None else sent
    return Text(path, HINTS[path], text, min(max(text.count("\n") + 2, 6), 40))


def _models(files: Mapping[str, bytes]) -> list[tuple[str, int]]:
    """Paths and sizes of the models' files, in bytes."""
    return [(path, len(content)) for path, content in files.items() if path.startswith(f"{MODELS}/")]


def _page(
    request: HttpRequest, found: StudyDraft, name: str, problems: Sequence[Problem], *, status: int = 200,
    **context: Any,
) -> HttpResponse:  # fmt: skip
    steps = [Step(key, title, _of_step(key, paths, problems)) for key, (title, paths) in STEPS.items()]
    own = next((item.problems for item in steps if item.name == name), list(problems))
    return render(
        request, "studies/draft.html",
        {"draft": found, "steps": steps, "step": name, "problems": own, "count": len(problems), **context},
        status=status,
    )  # fmt: skip


def _of_step(name: str, paths: Sequence[str], problems: Sequence[Problem]) -> list[Problem]:
    if name == MODELS:
        return [item for item in problems if item.file.startswith(f"{MODELS}/")]
    return [item for item in problems if item.file in paths]


@require_POST
def freeze(request: HttpRequest, pk: int) -> HttpResponse:
    """Record the draft's study. What stands in the way is shown instead."""
    found = _draft(request, pk)
    try:
        study = study_drafts.freeze(found, int(request.POST.get("version", "")[:9]))
    except ValueError:
        messages.error(request, "The page was sent without its version; open it again.")
    except creating.FolderRefused:
        messages.error(request, "Nothing was recorded: there are things to mend.")
    except ServiceError as error:
        messages.error(request, sentence(f"{error}."))
    else:
        messages.success(request, "Recorded, and its protocol is frozen.")
        return redirect(study)
    return redirect(found)


@require_POST
def throw_away(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete a draft that was not recorded."""
    found = _draft(request, pk)
    if found.study_id is None:
        found.delete()
        messages.success(request, "The draft is gone.")
    return redirect("study-drafts")
