"""Which runs are worth making: what a trace could have seen, what that settles, what is left."""

from conjunct.plan.carriers import CarrierTable, Question, questions
from conjunct.plan.clues import Clues, clues_of
from conjunct.plan.coverage import count_contexts
from conjunct.plan.explore import Exploration, Scope, explore
from conjunct.plan.joins import Footprint, Join, footprint, joins
from conjunct.plan.localise import localise
from conjunct.plan.twins import TwinFinding, twins

__all__ = [
    "CarrierTable",
    "Clues",
    "Exploration",
    "Footprint",
    "Join",
    "Question",
    "Scope",
    "TwinFinding",
    "clues_of",
    "count_contexts",
    "explore",
    "footprint",
    "joins",
    "localise",
    "questions",
    "twins",
]
