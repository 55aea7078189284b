"""The folder ``.noonmark`` beside the work, where stores and locks are that nobody gave another place.

Rule of the file: it is made where it is missing and hidden from version control; other folders are their owners' business.
"""

from __future__ import annotations

from pathlib import Path

NAME = ".noonmark"


def make_own_folder(folder: Path) -> bool:
    """Make a folder of ours, if it is one and missing; return whether there is a folder now.

    Raises:
        OSError: it cannot be made.
    """
    if folder.is_dir():
        return True
    if folder.name != NAME:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return True
