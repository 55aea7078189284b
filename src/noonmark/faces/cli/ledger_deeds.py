"""What ``noonmark ledger show`` says of people's deeds in a lost range: the commands that do them again.

Rule of the file: words only; which deeds are gone is found out in ``engine/deeds.py``.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from noonmark.core.model import DAY
from noonmark.core.told import Told, joined
from noonmark.explain.render import stamp, table
from noonmark.faces.cli.session import Session

if TYPE_CHECKING:
    from noonmark.core.model.rollback import Epoch
    from noonmark.engine.deeds import Deed, Gone

SHOWN = 50
"""Most deeds that are listed; ``--json`` has all of them."""
_OF_OTHERS = frozenset({"--param", "--value", "--reason", "--key"})
"""Behind these stand words of others, which are searched for secrets."""


def lost_deeds(here: Session, epochs: Sequence[Epoch]) -> list[Gone]:
    """Return what people did in lost ranges, until a day after their release, that the store shows nothing of, by time.

    This machine's own folder is asked as well as those that are named: commands write there, wherever workers do.
    """
    from noonmark.engine import deeds
    from noonmark.engine.statefolder import NONE, root_of

    ranges = [
        (epoch.lost_from, epoch.detected_at)
        for epoch in epochs
        if epoch.released_at is None or here.now < epoch.released_at + DAY
    ]
    if not ranges or not hasattr(here.store, "store_id"):
        return []
    own = root_of(None)
    roots = dict.fromkeys([*here.memories, *([own] if own is not None and NONE not in here.settings.state else [])])
    found: list[Deed] = []
    for root in roots:
        with contextlib.suppress(OSError):  # another user's folder: then less is known
            found += deeds.read(root, str(here.store.store_id()), ranges, here.tell_damage)
    gone, seen = [], set()
    for each in deeds.gone(here.store, found):
        if each.words is None or each.words not in seen:  # several rules of one file are one command
            seen.add(each.words)
            gone.append(each)
    return gone


def plain(here: Session, each: Gone) -> dict[str, Any]:
    """Return a deed for JSON."""
    deed = each.deed
    return {
        "at": stamp(deed.at, here.zone()),
        "by": deed.by,
        "kind": deed.kind,
        "job": deed.job,
        "key": deed.key,
        "flag": deed.name,
        "command": None if each.words is None else command(each.words),
    }


def text(here: Session, gone: Sequence[Gone]) -> str:
    """Return the commands to type, with when and by whom they were typed."""
    voice = here.voice(here.one_zone or "UTC")
    rows = [
        [voice.moment(each.deed.at), each.deed.by, command(each.words)]
        for each in gone[:SHOWN]
        if each.words is not None
    ]
    parts: list[str] = [here.word("ledger_deeds", zone=voice.zone)]
    if rows:
        parts.append(table(here.header("deeds_header"), rows))
    for each in gone[:SHOWN]:
        if each.words is None:
            what = joined([*map(Told, each.deed.words[:1]), f"r{each.deed.row}", *each.deed.words[2:3]], " ")
            names = {"what": what, "job": each.deed.job, "key": each.deed.key or "-", "by": each.deed.by}
            parts.append(here.word("ledger_deed_no_row", at=voice.moment(each.deed.at), **names))
    if len(gone) > SHOWN:
        parts.append(here.word("more_rows", count=len(gone) - SHOWN))
    return joined(parts)


def command(words: Sequence[str]) -> Told:
    """Return a command as it is typed; only what others wrote in it loses its secrets."""
    before = ("", *words)
    return joined(
        [
            Told("noonmark"),
            *(
                shlex.quote(word) if previous in _OF_OTHERS else Told(shlex.quote(word))
                for previous, word in zip(before, words, strict=False)
            ),
        ],
        " ",
    )
