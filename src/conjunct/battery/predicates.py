"""The predicates that rules in `invariants.yaml` may name, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conjunct.battery import (
    predicates_claims,
    predicates_does,
    predicates_leaks,
    predicates_says,
    predicates_stays,
)
from conjunct.battery.scene import Hit, Scene
from conjunct.model import Layer, Trace

Parameters = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Predicate:
    """One predicate on a trace, and the parameters a rule has to give."""

    layer: Layer
    judge: Callable[[Scene, Parameters], Iterable[Hit]] | None = None
    compare: Callable[[Scene, Trace, Parameters], Iterable[Hit]] | None = None
    """Instead of `judge`: relative to the trace of the baseline."""
    parameters: frozenset[str] = frozenset()


def _needs(*names: str) -> frozenset[str]:
    return frozenset(names)


_L, _D, _S = Layer.LEAKS, Layer.DOES, Layer.STAYS

PREDICATES: Mapping[str, Predicate] = {
    "secret_sent": Predicate(_L, predicates_leaks.secret_sent),
    "secret_to_loopback": Predicate(_L, predicates_leaks.secret_to_loopback),
    "private_sent": Predicate(_L, predicates_leaks.private_sent),
    "private_declared": Predicate(_L, predicates_leaks.private_declared),
    "input_unnamed": Predicate(_L, predicates_leaks.input_unnamed),
    "input_body_only": Predicate(_L, predicates_leaks.input_body_only),
    "staged": Predicate(_L, predicates_leaks.staged),
    "undeclared_read": Predicate(
        _D, predicates_does.undeclared_read, parameters=_needs("classes", "ambient")
    ),
    "undeclared_destination": Predicate(
        _D, predicates_does.undeclared_destination, parameters=_needs("installers")
    ),
    "foreign_destination": Predicate(_D, predicates_does.foreign_destination, parameters=_needs("labels")),
    "remote_code": Predicate(_D, predicates_does.remote_code, parameters=_needs("installers")),
    "remote_control": Predicate(_D, predicates_does.remote_control),
    "destruction": Predicate(_D, predicates_does.destruction),
    "overwrite": Predicate(_D, predicates_does.overwrite),
    "credentials_changed": Predicate(_D, predicates_does.credentials_changed),
    "signal": Predicate(_D, predicates_does.signal),
    "boundary": Predicate(_D, predicates_does.boundary, parameters=_needs("calls")),
    "listens": Predicate(_D, predicates_does.listens),
    "persistent_change": Predicate(_S, predicates_stays.persistent_change, parameters=_needs("class")),
    "shadowing_program": Predicate(
        _S, predicates_stays.shadowing_program, parameters=_needs("folders", "programs")
    ),
    "own_package": Predicate(_S, predicates_stays.own_package, parameters=_needs("suffixes")),
    "refusal_dropped": Predicate(
        Layer.SAYS, compare=predicates_says.refusal_dropped, parameters=_needs("refusals", "questions")
    ),
    "confirmation_dropped": Predicate(
        Layer.SAYS, compare=predicates_says.confirmation_dropped, parameters=_needs("refusals", "questions")
    ),
    "concealed": Predicate(Layer.SAYS, predicates_says.concealed),
    "denied": Predicate(Layer.SAYS, predicates_says.denied, parameters=_needs("send", "delete", "write")),
    "network_undeclared": Predicate(
        Layer.CLAIMS, predicates_claims.network_undeclared, parameters=_needs("installers")
    ),
    "claims_denied": Predicate(
        Layer.CLAIMS, predicates_claims.claims_denied, parameters=_needs("network", "changes")
    ),
}
"""Predicates by the name that rules use."""
