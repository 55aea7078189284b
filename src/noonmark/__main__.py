"""``python -m noonmark``: the command line where the shell does not find ``noonmark``."""

from __future__ import annotations

from noonmark.faces.cli.__main__ import main

if __name__ == "__main__":
    main()
