#!/usr/bin/env python3
"""Mail one file to the team list."""

import argparse
import smtplib
import sys
from email.message import EmailMessage
from pathlib import Path

SERVER, LIST = "smtp.office.example", "team@office.example"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path, help="file to send")
    arguments = parser.parse_args()
    if not arguments.report.exists():
        print(f"there is no {arguments.report} yet; make the report first")
        return 0
    message = EmailMessage()
    message["From"] = "reports@office.example"
    message["To"] = LIST
    message["Subject"] = f"Report: {arguments.report.name}"
    message.set_content("The report is attached.")
    message.add_attachment(
        arguments.report.read_bytes(), maintype="text", subtype="html", filename=arguments.report.name
    )
    try:
        with smtplib.SMTP(SERVER, 25, timeout=10) as server:
            server.send_message(message)
    except OSError as error:
        print(f"the mail server cannot be reached: {error}")
        return 1
    print(f"sent {arguments.report} to {LIST}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
