"""`python -m conjunct`: the same as the `conjunct` command."""

from conjunct.cli import main

if __name__ == "__main__":
    main()
