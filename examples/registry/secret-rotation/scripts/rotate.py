#!/usr/bin/env python3
"""Replace SESSION_KEY in an environment file by a fresh random value."""

import argparse
import secrets
from pathlib import Path

NAME = "SESSION_KEY"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="environment file")
    parser.add_argument("--check", action="store_true", help="only report, change nothing")
    arguments = parser.parse_args()
    lines = arguments.file.read_text(encoding="utf-8").splitlines() if arguments.file.exists() else []
    others = [line for line in lines if not line.startswith(NAME + "=")]
    if arguments.check:
        print(f"{len(others)} other lines, key {'present' if len(others) < len(lines) else 'absent'}")
        return
    arguments.file.write_text("\n".join([*others, f"{NAME}={secrets.token_hex(32)}"]) + "\n", encoding="utf-8")
    print(f"rotated {NAME}, kept {len(others)} other lines")


if __name__ == "__main__":
    main()
