"""Where reports go is checked before the work."""

from __future__ import annotations

from pathlib import Path

import pytest

from conjunct.errors import UsageError
from conjunct.report.write import require_folders


def test_a_folder_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    for target in (tmp_path / "none" / "report.json", tmp_path):
        with pytest.raises(UsageError, match="cannot be written"):
            require_folders(None, target)


def test_a_new_file_and_one_that_is_there_are_fine(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text("{}", encoding="utf-8")
    require_folders(tmp_path / "old.json", tmp_path / "new.html")
