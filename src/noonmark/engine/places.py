"""Which store lies at an address, and which ones lay there before, as the workers of this host found it.

Layout: in ``ROOT/places/`` a file for each address with the id of the store there, and beside it, ``.former``, the ids of
those that lay there before, a line each.

Rule of the file: no error leaves it; what cannot be read was never there.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from pathlib import Path

from noonmark.ports.rollback import Placed
from noonmark.ports.store import Store


def place_of(store: Store) -> str:
    """Return where a store is, as a URL that means the same in every folder of this host."""
    return store.place if isinstance(store, Placed) else store.url


def lay_before(root: Path, url: str, store: str) -> str:
    """Return the store that is remembered to lie at an address, "" when it is this one or none is."""
    before = _named(_place(root, url))
    return before[-1] if before and before[-1] != store else ""


def lies_at(root: Path, url: str, store: str) -> None:
    """Remember which store lies at an address, and that the one remembered so far lay there before."""
    place = _place(root, url)
    known = _named(place)
    if known == [store]:
        return
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = [before for before in known if before not in _named(_former(place))]
        if new:
            with _former(place).open("a", encoding="utf-8") as former:
                former.write("".join(f"{before}\n" for before in new))
        place.write_text(f"{store}\n", encoding="utf-8")


def former(roots: Iterable[Path], url: str, store: str) -> list[tuple[Path, str]]:
    """Return the state folder and the id of every other store that lay at an address and that a folder still remembers.

    Args:
        roots: the state folders.
        url: the address, see ``place_of``.
        store: the id of the store that lies there now.
    """
    found = []
    for root in roots:
        place = _place(root, url)
        named: dict[str, None] = {}
        for path in (_former(place), place):
            named.update(dict.fromkeys(_named(path)))
        # A name out of a file is made part of a path only if it can be a store's id.
        found += [(root, name) for name in named if name != store and name.isalnum() and _remembers(root / name)]
    return found


def _named(path: Path) -> list[str]:
    """Return the stores that a file names."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8").split()
    return []


def _remembers(folder: Path) -> bool:
    try:
        return any(folder.glob("*/receipt.json"))
    except OSError:
        return False


def _place(root: Path, url: str) -> Path:
    return root / "places" / hashlib.sha256(url.encode()).hexdigest()[:16]


def _former(place: Path) -> Path:
    return place.with_name(f"{place.name}.former")
