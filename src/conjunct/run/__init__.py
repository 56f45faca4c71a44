"""Making runs: episodes, executors, the command memo, the store."""

from conjunct.run.drive import Progress, drive
from conjunct.run.executor import LocalExecutor
from conjunct.run.store import Store

__all__ = ["LocalExecutor", "Progress", "Store", "drive"]
