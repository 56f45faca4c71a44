"""Record the golden traces anew: `python tests/world/golden/record.py`. Read the difference first.

Only the look-ups of the C library and the interpreters in the read-only system are thinned out, to keep the
files small; everything else is what strace wrote.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from trace_harness import Bench, as_data  # noqa: E402

ONE = "/home/sam/.claude/skills/one"
FILES = {
    ".claude/skills/one/report.py": """
import csv, helper, json, os, subprocess
rows = list(csv.reader(open("sales.csv")))
open("report.json", "w").write(json.dumps(rows))
os.replace("report.json", "final.json")
if os.path.exists(os.path.expanduser("~/.aws/config")):
    pass
print(subprocess.run(["sort", "sales.csv"], capture_output=True).stdout)
""",
    ".claude/skills/one/helper.py": "x = 1\n",
    ".claude/skills/one/deploy.sh": """#!/bin/bash
set -e
. "$(dirname "$0")/settings.env"
mkdir -p build && cat > build/note <<EOF
$NAME
EOF
head -1 sales.csv | tr a-z A-Z > build/first
(cd build; rm first; ln -s note latest)
missing-tool --version || true
""",
    ".claude/skills/one/settings.env": "NAME=x\n",
    ".claude/skills/one/main.js": """
const fs = require('fs'), path = require('path');
const lib = require('./lib');
for (const f of fs.readdirSync('.')) lib.seen.push(fs.statSync(path.join('.', f)).size);
fs.appendFileSync(process.env.HOME + '/.bashrc', '# x\\n');
""",
    ".claude/skills/one/lib.js": "exports.seen = [];\n",
    ".claude/skills/one/threads.py": """
import os, socket, threading
def look():
    fd = os.open("/home/sam/.aws", os.O_RDONLY)
    open(os.open("credentials", os.O_RDONLY, dir_fd=fd)).read()
many = [threading.Thread(target=look) for _ in range(2)]
for one in many: one.start()
for one in many: one.join()
s = socket.socket(); s.settimeout(1)
try: s.connect(("127.0.0.1", 9))
except OSError: pass
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(b"x", ("127.0.0.1", 9999))
os.kill(1, 0)
""",
    "project/sales.csv": "a,1\nb,2\n",
}
COMMANDS = {
    "python": ("python3", f"{ONE}/report.py"),
    "bash": ("bash", f"{ONE}/deploy.sh"),
    "node": ("node", f"{ONE}/main.js"),
    "threads": ("python3", "-I", "-S", f"{ONE}/threads.py"),
    "curl": ("curl", "-s", "-m", "1", "-T", "sales.csv", "http://127.0.0.1:9/upload"),
}


def kept(line: str) -> bool:
    """Whether a line stays in the file."""
    return not ('"/usr/lib' in line or "</usr/lib" in line or '"/lib/x86_64' in line)


def main() -> None:
    for name, argv in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(Path(folder))
            for path, text in FILES.items():
                bench.put(path, text, executable=path.endswith(".sh"))
            lines = [line for line in bench.lines(*argv) if kept(line)]
            (HERE / f"{name}.trace").write_text("\n".join(lines) + "\n", encoding="ascii")
            expected = json.dumps(as_data(bench.read(lines, argv=argv)), indent=1, sort_keys=True)
            (HERE / f"{name}.json").write_text(expected + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
