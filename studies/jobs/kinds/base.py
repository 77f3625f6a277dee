"""What a kind of job is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from studies.jobs.errors import JobRefused
from studies.jobs.values import JobOutput
from studies.jobs.work import Work
from studies.models import Study


class Parameter:
    """One parameter of a kind: what to send, its type, whether it is needed, and its label on a page."""

    def __init__(
        self, help_text: str, kind: type = str, default: Any = None, *, needed: bool = False, label: str = ""
    ) -> None:
        self.help_text = help_text
        self.kind = kind
        self.default = default
        self.needed = needed
        self.label = label

    def read(self, name: str, sent: Any) -> Any:
        """The value.

        Raises ``JobRefused`` for another type.
        """
        if type(sent) is not self.kind:
            raise JobRefused(name, f"is {str(sent)[:80]!r}, expected {_WORDS[self.kind]}")
        if sent == "" and self.needed:
            raise JobRefused(name, "is empty, expected a text")
        return sent


_WORDS = {str: "a text", bool: "true or false", int: "a whole number", list: "a list"}


class Kind:
    """A kind of job: what it is called, who may start it, and with which parameters.

    One that is no ``WorkerKind`` is done elsewhere, by a host that asks for it through the API.

    Attributes:
        name: how the API and the command line call it.
        title: how a page calls it.
        queue: which workers, or which host, do it.
        staff_only: whether uploaders may not start it.
        needs_study: whether it is about one study.
        parameters: what may be given, by name.
    """

    name = ""
    title = ""
    queue = "default"
    staff_only = False
    needs_study = True
    parameters: Mapping[str, Parameter] = {}

    def queue_for(self, parameters: Mapping[str, Any]) -> str:
        """The queue of one job."""
        return self.queue

    def clean(self, study: Study | None, sent: Mapping[str, Any], *, operator: bool) -> dict[str, Any]:
        """The parameters of a new job, complete.

        ``operator``: they come from the server's own command line, which may name any file.
        Raises ``JobRefused`` naming the parameter.
        """
        if self.needs_study and study is None:
            raise JobRefused("study", f"is not given, expected the study to {self.title.lower()}")
        if not self.needs_study and study is not None:
            raise JobRefused("study", f"is {study.slug!r}, expected none: this kind is about no study")
        for name in sent:
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise JobRefused(f"parameters.{name[:60]}", f"is not known, expected {known}")
        values = {}
        for name, parameter in self.parameters.items():
            if name in sent:
                values[name] = parameter.read(f"parameters.{name}", sent[name])
            elif parameter.needed:
                raise JobRefused(f"parameters.{name}", f"is not given, expected {parameter.help_text}")
            else:
                values[name] = parameter.default
        return values

    def offered_on(self, study: Study) -> bool:
        """Whether the study's page has a button for it."""
        return self.needs_study

    @property
    def boxes(self) -> list[tuple[str, Parameter]]:
        """Parameters that a button's form shows as boxes to tick."""
        return [item for item in self.parameters.items() if item[1].label]


class WorkerKind(Kind, ABC):
    """A kind that workers do. ``inputs`` and ``compute`` only read; ``record`` writes, in the job's last
    transaction."""

    @abstractmethod
    def inputs(self, work: Work) -> Any:
        """Everything the result depends on, as JSON; the same again finds the earlier result."""

    @abstractmethod
    def compute(self, work: Work) -> Any:
        """The work itself, which may take long. Writes nothing to the database; may run twice."""

    @abstractmethod
    def record(self, work: Work, computed: Any) -> JobOutput:
        """Record what was computed. Runs in the transaction that ends the job: both hold or neither."""

    def environment(self, computed: Any) -> dict[str, Any]:
        """What is to be said of the environment beside the worker's own versions."""
        return {}
