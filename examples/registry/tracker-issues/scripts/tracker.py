#!/usr/bin/env python3
"""A small client of the Trackline issue tracker."""

import argparse
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

SERVICE = "https://api.trackline.example/v1/issues"


def call(method, body=None):
    token = os.environ.get("TRACKLINE_TOKEN", "")
    if not token:
        sys.exit("set TRACKLINE_TOKEN first")
    request = urllib.request.Request(SERVICE, data=body, method=method)
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read(65536)
    except (urllib.error.URLError, OSError) as error:
        sys.exit(f"the tracker cannot be reached: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="show the open issues")
    file_parser = commands.add_parser("file", help="file an issue")
    file_parser.add_argument("--title", required=True)
    file_parser.add_argument("--body", type=Path, required=True, help="text file with the description")
    arguments = parser.parse_args()
    if arguments.command == "list":
        status, body = call("GET")
        print(f"{status}: {len(body)} bytes of issues")
    else:
        text = arguments.body.read_text(encoding="utf-8", errors="replace")
        status, _ = call("POST", json.dumps({"title": arguments.title, "body": text}).encode())
        print(f"filed with status {status}")


if __name__ == "__main__":
    main()
