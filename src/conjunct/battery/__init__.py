"""What is asked and what must hold: probes, histories, invariants and factor levels as data; the judge."""

from conjunct.battery.carriers import all_wordings, at_clock, with_mentions
from conjunct.battery.fill import OUTPUT_FOLDER, fill_authority, fill_probe
from conjunct.battery.fixture_texts import CANARY
from conjunct.battery.fixtures import Fixture, fixture_index, fixtures
from conjunct.battery.judge import judge, judge_against
from conjunct.battery.load import battery_digest, load_battery
from conjunct.battery.request import generate_task
from conjunct.battery.scene import Paths, PlantedFact

__all__ = [
    "CANARY",
    "OUTPUT_FOLDER",
    "Fixture",
    "Paths",
    "PlantedFact",
    "all_wordings",
    "at_clock",
    "battery_digest",
    "fill_authority",
    "fill_probe",
    "fixture_index",
    "fixtures",
    "generate_task",
    "judge",
    "judge_against",
    "load_battery",
    "with_mentions",
]
