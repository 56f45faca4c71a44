"""Runs small programs under strace in a sandbox that looks like the world's, and reads their traces."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from conjunct.world.facts import CommandFacts
from conjunct.world.seccomp import filter_program, refusal_expressions, trace_expression
from conjunct.world.spec import Command, Layout
from conjunct.world.trace import STRACE_OPTIONS, EpisodeTrace, parse_command

LAYOUT = Layout()


@dataclass
class Bench:
    """A home folder with two skills, and the episode's state."""

    root: Path
    episode: EpisodeTrace = field(default_factory=lambda: EpisodeTrace(LAYOUT))
    steps: int = 0

    def __post_init__(self) -> None:
        self.home = self.root / "home"
        for name in (".aws", "project", ".claude/skills/one/scripts", ".claude/skills/two"):
            (self.home / name).mkdir(parents=True)
        (self.home / ".aws/credentials").write_text("secret\n")
        (self.home / ".bashrc").write_text("# startup\n")
        (self.root / "tmp").mkdir()

    def put(self, path: str, text: str, *, executable: bool = False) -> None:
        """Write a file below home."""
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        if executable:
            target.chmod(0o755)

    def lines(self, *argv: str, cwd: str = LAYOUT.workspace) -> list[str]:
        """The raw trace of one command."""
        out = self.root / "trace"
        strace = [shutil.which("strace") or "strace", *STRACE_OPTIONS, "-o", str(out)]
        strace += ["-e", f"trace={trace_expression()}"]
        for expression in refusal_expressions():
            strace += ["-e", f"inject={expression}"]
        sandbox = ["bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib"]
        sandbox += ["--symlink", "usr/lib64", "/lib64", "--symlink", "usr/bin", "/bin", "--proc", "/proc"]
        sandbox += ["--dev", "/dev", "--ro-bind", "/etc", "/etc", "--bind", str(self.root / "tmp"), "/tmp"]
        sandbox += ["--bind", str(self.home), LAYOUT.home, "--unshare-all", "--clearenv"]
        sandbox += ["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", LAYOUT.home]
        # strace starts inside: mounting belongs to what the tracer refuses.
        inner = ["--ro-bind", str(Path(strace[0]).parent), str(Path(strace[0]).parent)]
        out.touch()
        # Without it glibc makes threads by clone3, which the world refuses as strace cannot read its flags.
        filter_file = self.root / "filter"
        filter_file.write_bytes(filter_program(traced=True))
        inner += ["--bind", str(out), "/run/trace", "--chdir", cwd, "--"]
        strace[strace.index("-o") + 1] = "/run/trace"
        with filter_file.open("rb") as program:
            inner[-1:-1] = ["--seccomp", str(program.fileno())]
            done = subprocess.run(
                [*sandbox, *inner, *strace, "--", *argv],
                capture_output=True,
                timeout=60,
                check=False,
                pass_fds=(program.fileno(),),
            )
        text = out.read_bytes().decode("latin-1")
        assert text, done.stderr.decode()
        return text.split("\n")[:-1]

    def run(self, *argv: str, cwd: str = LAYOUT.workspace, skill: str = "one") -> CommandFacts:
        """Run one command and read its trace."""
        return self.read(self.lines(*argv, cwd=cwd), argv=argv, cwd=cwd, skill=skill)

    def read(
        self, lines: list[str], *, argv: tuple[str, ...] = (), cwd: str = LAYOUT.workspace, skill: str = "one"
    ) -> CommandFacts:
        """Read a trace as the next command of the episode."""
        command = Command(argv, cwd, turn=1, step=self.steps, skill=skill, file="SKILL.md", line=7)
        self.steps += 1
        root = int(lines[0].split(" ", 1)[0])
        return parse_command(lines, episode=self.episode, command=command, root_pid=root, root_inside=root)


def touched(facts: CommandFacts) -> set[tuple[str, str, bool]]:
    """(path, mode, found) of every touch."""
    return {(touch.path, touch.mode.value, touch.found) for touch in facts.touches}


def done(facts: CommandFacts) -> set[tuple[str, str]]:
    """(kind, resource) of every completed action."""
    return {(action.kind.value, action.resource) for action in facts.actions if action.completed}


def as_data(facts: CommandFacts) -> dict[str, object]:
    """The facts as a person would write them down."""
    return {
        "touches": sorted(
            f"{path} {mode} {'found' if seen else 'missing'}" for path, mode, seen in touched(facts)
        ),
        "actions": [
            f"{'' if action.completed else 'failed '}{action.kind.value} {action.resource}"
            f" ({action.resource_class.value})"
            f" by {' > '.join(link.file or link.name for link in action.actor)}"
            for action in facts.actions
        ],
        "connections": [
            f"{item.protocol} {item.destination} {'completed' if item.completed else 'failed'}"
            for item in facts.connections
        ],
        "processes": [
            f"{' '.join(process.argv)} | {process.script or '-'} | {process.cwd} | {process.ended}"
            for process in facts.processes
        ],
        "carriers_out": [f"{item.kind} {item.name}" for item in facts.carriers_out],
        "folder_stats": list(facts.folder_stats),
        "programs_missing": list(facts.programs_missing),
        "outlived": len(facts.outlived),
        "undetermined": list(facts.undetermined),
        "assumed": list(facts.assumed),
    }
