"""What state folders tell: the receipts of a host's writers, and the outcomes that their journals have.

Promise: a line, or a receipt, that is not as its writer wrote it says nothing, and a damaged receipt is replaced by what
proves less.  Whose lines they are, and how they come to be written, stands in ``statefolder.py``.

Rule of the file: reads only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from noonmark.core.model import Micros
from noonmark.core.model.rollback import Receipt
from noonmark.core.values import dataclass
from noonmark.engine import lines

OUTCOME = (
    "occurrence", "job", "subject", "identity", "key", "scheduled_for", "business_date", "origin", "outcome", "fence",
)  # fmt: skip
"""The fields of one outcome in a line of the journal, in order."""
_KEY = OUTCOME.index("key")
_SUM = ', "sum": "'
_HEAD = re.compile(rb'\{"seq": \d+, "hash": "[^"\\]*", "at": (\d+), ')
"""How a line begins (see ``statefolder.Witness.record``): with the moment by which most of them can be passed over."""
_BEGUN = b'"begun"'


def stores(root: Path) -> list[str]:
    """Return the stores of which a folder remembers anything, the one that was written to last first."""
    written: dict[str, float] = {}
    with contextlib.suppress(OSError):
        for path in (*root.glob("*/*/*.json*"), *root.glob("*/deeds*.jsonl")):
            store = path.relative_to(root).parts[0]
            written[store] = max(written.get(store, 0.0), path.stat().st_mtime)
    return sorted(written, key=lambda store: (-written[store], store))


def receipts(root: Path, store: str) -> Iterator[tuple[str, Receipt | None, str]]:
    """Yield of each writer of a store its name, its receipt (recovered where it is damaged), and what is wrong with it."""
    with contextlib.suppress(OSError):
        for place in sorted((root / store).iterdir()):
            if (place / "lock").exists():
                yield (place.name, *read_receipt(place))


def read_receipt(place: Path) -> tuple[Receipt | None, str]:
    """Return the receipt, and why it could not be read ("": it could, or there was none yet)."""
    file = place / "receipt.json"
    try:
        return _valid(Receipt(**json.loads(file.read_text(encoding="utf-8")))), ""
    except FileNotFoundError:
        return None, ""
    except (OSError, ValueError, TypeError, RecursionError) as error:
        return _last_in_journal(place), str(error) or type(error).__name__


def _valid(receipt: Receipt) -> Receipt:
    wrong = [
        name for name, value in asdict(receipt).items()
        if type(value) is not (str if name in ("store", "writer", "hash", "worker") else int)
    ]  # fmt: skip
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: no such value")
    return receipt


def _last_in_journal(place: Path) -> Receipt | None:
    """Return the receipt of the last whole line: older than the one that is damaged, so it proves less and nothing false.

    A line that is damaged, or does not say after which rollback it was written, proves nothing.
    """
    for name in ("journal.jsonl", "journal.1.jsonl"):
        found: Receipt | None = None
        with contextlib.suppress(OSError), (place / name).open(encoding="utf-8", errors="replace") as journal:
            for text in journal:
                with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                    line = unsealed(place, text)
                    said = {field: line[field] for field in ("epoch", "seq", "hash", "at")}
                    found = _valid(Receipt(store=place.parent.name, writer=place.name, **said))
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What of the journals is asked for, so that the rest need not be understood.

    ``after`` (exclusive) and ``until``: when it was acknowledged, store time in UTC microseconds; a run that ended over a
    rollback counts whenever that was.  ``keys`` None: whatever the key.
    """

    after: Micros
    until: Micros
    keys: frozenset[str] | None = None


def outcomes(
    root: Path, store: str, on_damage: Callable[[str], object] = lambda _: None, sought: Sought | None = None
) -> Iterator[dict[str, Any]]:
    """Yield what the journals of a host have about a store, writer by writer, oldest first.

    Args:
        root: the state folder.
        store: its id.
        on_damage: is told each line that is not as it was written, as FILE:LINE; it says nothing.
        sought: leave out what is not asked for; of damage only in what might have been is told then.

    Yields:
        The fields, the writer, ``seq`` and ``at`` of its line; ``begun`` where the run ended over a rollback.
    """
    place = root / store
    for writer in sorted(entry for entry in place.iterdir() if entry.is_dir()) if place.is_dir() else []:
        for name in ("journal.1.jsonl", "journal.jsonl"):
            path = writer / name
            if not path.exists():
                continue
            for number, text in _texts(path, sought):
                told = _told(writer, text.decode("utf-8", "replace"), sought)
                if told is None:
                    on_damage(f"{path}:{number}")
                else:
                    yield from told


def _texts(path: Path, sought: Sought | None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that may say what is sought; one whose head is none we cannot pass over."""
    if sought is not None and sought.keys is not None and len(sought.keys) <= lines.FEW:
        yield from lines.holding(path, {json.dumps(key).encode() for key in sought.keys})
        return
    for number, text, head in lines.matching(path, _HEAD):
        if sought is None or head is None or _is_sought(int(head[1]), text, sought):
            yield number, text


def _is_sought(at: Micros, text: bytes, sought: Sought) -> bool:
    return at > sought.after and (at <= sought.until or _BEGUN in text)


def _told(place: Path, text: str, sought: Sought | None) -> list[dict[str, Any]] | None:
    if not text.strip():
        return []
    keys = None if sought is None else sought.keys
    try:
        line = unsealed(place, text)
        said = {"writer": place.name, "seq": line["seq"], "at": line["at"]}
        if "begun" in line:
            said["begun"] = line["begun"]
        wanted = line["outcomes"] if keys is None else [each for each in line["outcomes"] if each[_KEY] in keys]
        return [{**dict(zip(OUTCOME, each, strict=True)), **said} for each in wanted]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


def sealed(place: Path, text: str) -> str:
    """Return a JSON object's text with its sum as the last member."""
    return f'{text[:-1]}{_SUM}{_sum(place, text)}"}}'


def unsealed(place: Path, text: str) -> dict[str, Any]:
    """Return what a line says.

    Raises:
        ValueError: it is not as it was written, or it was written by another writer or for another store.
    """
    head, mark, seal = text.rstrip("\n").rpartition(_SUM)
    if not mark or seal != f'{_sum(place, head + "}")}"}}':
        raise ValueError("its sum does not fit")
    line: dict[str, Any] = json.loads(head + "}")
    return line


def _sum(place: Path, text: str) -> str:
    said = f"{place.parent.name}/{place.name}\n{text}"
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]
