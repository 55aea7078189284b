"""The doctor port: what a store finds out about itself, said so that a person can act.

Rule of the file: a finding never guesses.  What could not be found out is a finding, too (level ``warn``), and what must
not be worked with is refused when the store is opened, in the same words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Any, Literal, Protocol, runtime_checkable

from noonmark.core.values import dataclass
from noonmark.ports.store import Capability, StoreUnusable


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    ``level``: ``ok`` (as it should be), ``warn`` (it serves, but promises less than it could), ``refuse`` (opening raises
    StoreUnusable until somebody acts).  ``detail`` holds the values that the sentence names, so that the sentence can be
    told in another language by its code.  ``about``: ``durability`` or ``failover`` where the finding tells what this store
    keeps after a crash, or after a replica took over, so that nobody says it a second time in general words.
    """

    code: str  # noun_state, permanent
    level: Literal["ok", "warn", "refuse"]
    sentence: str  # English: what is, and what it means for the person who relies on this store
    remedy: str = ""  # English: what to do, "" when there is nothing to do
    detail: Mapping[str, Any] = field(default_factory=dict)
    about: Literal["", "durability", "failover"] = ""


@runtime_checkable
class Diagnoses(Protocol):
    """A store that can tell how it is.  Every store of noonmark does."""

    def diagnose(self) -> list[Finding]:
        """Look at the server or file as it is now; reads only.

        Raises:
            StoreUnreachable: nobody answers.
        """
        ...


class StoreAbsent(StoreUnusable):
    """There is no store at that place yet, and whoever only looks makes none: the place may be a mistyped one.

    ``findings`` and ``promises`` are what could be found out about the server all the same, for ``noonmark doctor``.
    """

    findings: tuple[Finding, ...] = ()
    promises: frozenset[Capability] = frozenset()


LISTED = 10
"""Names that are told of what is there instead, at most."""


def absent(where: str, kind: str, name: str, others: Collection[str]) -> StoreAbsent:
    """Return the error for a place without a store.

    Args:
        where: the store's URL without secrets.
        kind: the option of the URL that names the place, ``schema`` or ``namespace``.
        name: of the place.
        others: names of the places on the same server that hold a store, as far as they were looked for.
    """
    import difflib  # only on the way to an error

    # The nearest name first: of many, it is the one that was meant.
    known = sorted(others, key=lambda other: (-difflib.SequenceMatcher(None, name, other).ratio(), other))
    more = f", +{len(known) - LISTED}" if len(known) > LISTED else ""
    there = f"there are: {', '.join(known[:LISTED])}{more}" if known else "nor in any other"
    return StoreAbsent(
        f"cannot use the store {where}: there is no noonmark in the {kind} {name} ({there}). "
        f"Looking makes none: name the right one (?{kind}=NAME), or begin here: noonmark store migrate, or a worker."
    )


class StoreRefused(StoreUnusable):
    """A store has findings of level ``refuse``; ``where`` is its URL without secrets."""

    def __init__(self, where: str, findings: tuple[Finding, ...]) -> None:
        told = " ".join(f"{finding.sentence} {finding.remedy}".strip() for finding in findings)
        super().__init__(f"cannot use the store {where}: {told}")
        self.where, self.findings = where, findings


def raise_if_refused(where: str, findings: Iterable[Finding]) -> None:
    """Refuse to work with a store that has a finding of level ``refuse``.

    Args:
        where: the store's URL without secrets.
        findings: what ``diagnose`` found.

    Raises:
        StoreRefused: everything that is refused, each with its remedy.
    """
    refused = tuple(finding for finding in findings if finding.level == "refuse")
    if refused:
        raise StoreRefused(where, refused)
