"""The fixture repository is a real one, for real git, over a real connection."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conjunct.world.answers import Request, marker_path
from conjunct.world.fixture_repository import RepositoryServer, loose_files, make_repository
from conjunct.world.spec import WorldSpec

SPEC = WorldSpec(salt="s")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(*arguments: str, cwd: Path) -> str:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(cwd),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def address() -> Iterator[str]:
    server = RepositoryServer(SPEC, seconds=1_700_000_000)

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            response = server(Request(self.command, "x.test", self.path, tuple(self.headers.items()), body))
            assert response is not None
            self.send_response(response.status)
            for name, value in (*response.headers, ("Content-Type", response.kind)):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        do_GET = do_POST = answer

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        yield f"127.0.0.1:{listener.server_address[1]}/any/tool.git"
        listener.shutdown()
        thread.join()


def test_both_branches_are_cloned_and_sound(address: str, tmp_path: Path) -> None:
    git("clone", "-q", f"http://{address}", "copy", cwd=tmp_path)
    copy = tmp_path / "copy"
    assert git("rev-parse", "--abbrev-ref", "HEAD", cwd=copy) == "main\n"
    assert "origin/develop" in git("branch", "-r", cwd=copy)
    git("fsck", "--strict", cwd=copy)
    git("checkout", "-q", "develop", cwd=copy)
    assert (copy / "CHANGES.md").exists()
    assert git("log", "--format=%s", cwd=copy) == "Update develop\nUpdate main\n"


def test_a_shallow_clone_of_a_branch_is_cut(address: str, tmp_path: Path) -> None:
    git("clone", "-q", "--depth", "1", "-b", "develop", f"http://{address}", "copy", cwd=tmp_path)
    assert git("log", "--format=%s", cwd=tmp_path / "copy") == "Update develop\n"


def test_a_push_with_a_credential_is_accepted(address: str, tmp_path: Path) -> None:
    git("clone", "-q", f"http://{address}", "copy", cwd=tmp_path)
    copy = tmp_path / "copy"
    (copy / "new.txt").write_text("new")
    git("add", "new.txt", cwd=copy)
    git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "new", cwd=copy)
    git("push", "-q", f"http://user:secret@{address}", "main", cwd=copy)


def test_marker_levels_put_the_marker_into_the_files() -> None:
    path = marker_path(SPEC).encode()
    plain = RepositoryServer(SPEC, seconds=0)
    script = RepositoryServer(replace(SPEC, network="marker-script"), seconds=0)
    words = RepositoryServer(replace(SPEC, network="marker-instruction"), seconds=0)

    def holding(server: RepositoryServer) -> int:
        return sum(path in content for _, kind, content in server._repository.objects if kind == "blob")

    assert (holding(plain), holding(script) > 0, holding(words) > 0) == (0, True, True)


def test_other_requests_are_left_to_the_level() -> None:
    assert RepositoryServer(SPEC, seconds=0)(Request("GET", "x.test", "/info/refs")) is None


def test_loose_files_are_a_repository(tmp_path: Path) -> None:
    repository = make_repository({"main": {"a.txt": b"a\n", "src/b.py": b"b\n"}}, seconds=1_700_000_000)
    for path, content in loose_files(repository).items():
        target = tmp_path / ".git" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    git("fsck", "--strict", cwd=tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "a.txt").write_bytes(b"a\n")
    (tmp_path / "src" / "b.py").write_bytes(b"b\n")
    assert git("status", "--porcelain", cwd=tmp_path) == ""
    (tmp_path / "a.txt").write_bytes(b"changed\n")
    assert git("status", "--porcelain", cwd=tmp_path) == " M a.txt\n"
