"""Prices: what policies would have required. Nothing is recorded, so reading is all that it needs."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from admission import estimator
from admission.api.serializers.uploads import PriceRequest, ReplayRequest
from admission.estimator import Forward, InputError, Observation, PolicyError
from rlvram_site.api.keys import Scope


def refuse_estimate(error: InputError | PolicyError, place: str = "") -> ValidationError:
    """What the estimator refuses, as an error of the API; ``place`` is the field that held it."""
    if isinstance(error, PolicyError):
        return ValidationError({"policies": [str(error)]})
    detail: dict[str, Any] = {}
    for problem in error.problems:
        name = problem.under(place).field if place and problem.field != place else problem.field
        detail.setdefault(name, []).append(f"found {problem.found}; expected {problem.expected}")
    return ValidationError(detail)


class _Estimate(GenericAPIView):
    def required_scope(self, request: Request) -> Scope:
        return Scope.READ

    def sent(self, request: Request) -> dict[str, Any]:
        sent = self.get_serializer(data=request.data)
        sent.is_valid(raise_exception=True)
        return dict(sent.validated_data)


class Replay(_Estimate):
    """Price the candidates of a history under each policy, side by side."""

    serializer_class = ReplayRequest

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def post(self, request: Request) -> Response:
        values = self.sent(request)
        try:
            return Response(estimator.replay(values["document"], values["policies"]))
        except (InputError, PolicyError) as error:
            raise refuse_estimate(error, "document") from error


class Prices(_Estimate):
    """Price one forward under each policy, with every term and the formula. Sizes are bytes."""

    serializer_class = PriceRequest

    @extend_schema(responses=OpenApiTypes.OBJECT)
    def post(self, request: Request) -> Response:
        values = self.sent(request)
        try:
            policies = estimator.parse_policies(values["policies"])
            seen = [
                _built(f"observations[{place}]", Observation, item)
                for place, item in enumerate(values.get("observations", []))
            ]
            prices = estimator.compare(
                estimator.read_model(values["model"]),
                _built("forward", Forward, values["forward"]),
                policies,
                seen,
                values.get("usable_bytes"),
            )
        except (InputError, PolicyError) as error:
            raise refuse_estimate(error) from error
        return Response({"prices": [price.as_dict() for price in prices]})


def _built(place: str, kind: type, values: dict[str, Any]) -> Any:
    try:
        return kind(**values)
    except InputError as error:
        raise refuse_estimate(error, place) from error
