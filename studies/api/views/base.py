"""What every view of a study's records starts with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponseBase
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from rlvram_site.api.errors import Conflict
from rlvram_site.api.keys import Scope
from rlvram_site.api.tables import ConditionalView, RecordTable
from studies.models import Study
from studies.services.errors import UploadConflict, UploadRefused


class StudyView(ConditionalView):
    """One study of the address; ``write_scope`` is what writing needs."""

    write_scope: Scope | None = None

    def required_scope(self, request: Request) -> Scope | None:
        """The scope that a write needs; None where there is no write at all, so nobody has it."""
        return self.write_scope

    @property
    def study(self) -> Study:
        """The study of the address, or 404."""
        if not hasattr(self, "_study"):
            slug = self.kwargs["study"]
            study = Study.objects.filter(slug=slug).first()
            if study is None:
                raise NotFound(f"There is no study {slug!r}.")
            self._study = study
        return self._study

    def etag_streams(self) -> Iterable[str]:
        return [self.study.stream]


class StudyTable(StudyView, RecordTable):
    """A list of one study's records."""

    def get_queryset(self) -> QuerySet:
        return super().get_queryset().filter(study=self.study)


class StudyDetail(StudyView, ABC):
    """One record of a study."""

    @abstractmethod
    def find(self) -> Any:
        """The record, or ``NotFound``."""

    def get(self, request: Request, *args, **kwargs) -> HttpResponseBase:
        unchanged = self.conditional(request)
        if unchanged is not None:
            return unchanged
        return Response(self.get_serializer(self.find()).data)


def refuse(error: UploadRefused, many: str = "", length: int = 0) -> Exception:
    """A service's refusal as an error of the API. ``many`` names a list, ``length`` is its length."""
    if many:
        rows: list[dict[str, list[str]]] = [{} for _ in range(length)]
        for problem in error.problems:
            rows[problem.index].setdefault(problem.field, []).append(problem.message)
        detail: dict[str, Any] = {many: rows}
    else:
        detail = {}
        for problem in error.problems:
            detail.setdefault(problem.field, []).append(problem.message)
    return Conflict(detail) if isinstance(error, UploadConflict) else ValidationError(detail)
