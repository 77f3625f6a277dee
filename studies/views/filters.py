"""What a list of configurations can be narrowed by. Every filter ends up in the database's query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import django_filters
from django import forms
from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django_filters.fields import ChoiceField

from studies.models import Configuration

SEARCHED = ("configuration_id", "case_id", "model_name", "workload_name", "condition", "source_study")


@dataclass(frozen=True)
class StateChoice:
    """One state that the listed configurations can be in, and the condition that finds those that are."""

    value: str
    word: str
    condition: Q


class _NamedChoiceField(ChoiceField):
    """A choice whose error names the field, the value and what was expected."""

    def validate(self, value: Any) -> None:
        if value and not self.valid_value(value):
            expected = ", ".join(str(key) for key, _ in self.choices if key != "")
            raise forms.ValidationError(
                f"{self.label} is {value!r}, expected one of: {expected or 'nothing yet'}"
            )


class _Choice(django_filters.ChoiceFilter):
    field_class = _NamedChoiceField


class ConfigurationFilter(django_filters.FilterSet):
    """Free text and the values that occur in the list itself.

    ``states`` are the list's states in their order; the queryset gets ``state_order`` to sort by them.
    """

    q = django_filters.CharFilter(
        method="search", label="Text", max_length=100, widget=forms.TextInput(attrs={"type": "search"})
    )
    model = _Choice(field_name="model_id", label="Model", empty_label="any")
    workload = _Choice(field_name="workload_id", label="Workload", empty_label="any")
    level = _Choice(field_name="configuration_level", label="Level", empty_label="any")
    gpus = _Choice(field_name="gpu_count", label="GPUs", empty_label="any")
    source = _Choice(field_name="source_study", label="Measured in", empty_label="any")
    state = _Choice(method="in_state", label="Label", empty_label="any")

    class Meta:
        model = Configuration
        fields: list[str] = []

    def __init__(
        self, data: Any, queryset: QuerySet[Configuration], *, states: Sequence[StateChoice]
    ) -> None:
        self.states = {state.value: state for state in states}
        self.order = Case(
            *(When(state.condition, then=Value(place)) for place, state in enumerate(states)),
            default=Value(len(states)),
            output_field=IntegerField(),
        )
        present = queryset.order_by().values_list(
            "model_id", "workload_id", "configuration_level", "gpu_count", "source_study", "workload_name"
        )
        columns = list(zip(*present.distinct(), strict=True)) or [()] * 6
        super().__init__(data, queryset.annotate(state_order=self.order))
        names = dict(zip(columns[1], columns[5], strict=True))
        for name, values in zip(("model", "workload", "level", "gpus", "source"), columns[:5], strict=True):
            self.filters[name].extra["choices"] = [
                (str(value), names.get(value, str(value))) for value in sorted(set(values))
            ]
        self.filters["state"].extra["choices"] = [(state.value, state.word) for state in states]
        if len(self.filters["source"].extra["choices"]) < 2:
            del self.filters["source"]

    def search(self, queryset: QuerySet[Configuration], name: str, value: str) -> QuerySet[Configuration]:
        """Every word of the text occurs in the id, case, model, workload, condition or source."""
        for word in value.split():
            queryset = queryset.filter(
                Q(*((f"{field}__icontains", word) for field in SEARCHED), _connector=Q.OR)
            )
        return queryset

    def in_state(self, queryset: QuerySet[Configuration], name: str, value: str) -> QuerySet[Configuration]:
        return queryset.filter(self.states[value].condition)

    @property
    def messages(self) -> list[str]:
        """What is wrong with the given values, for a person; empty when nothing is."""
        return [message for errors in self.form.errors.values() for message in errors]

    @property
    def narrowed(self) -> bool:
        """Whether any filter is set."""
        return self.is_bound and any(self.form.data.get(name) for name in self.filters)
