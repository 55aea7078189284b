"""The doctor port: what a store finds out about itself, said so that a person can act.

Rule of the file: a finding never guesses.  What could not be found out is a finding, too (level ``warn``), and what must
not be worked with is refused when the store is opened, in the same words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from noonmark.ports.store import StoreUnusable


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at.

    ``level``: ``ok`` (as it should be), ``warn`` (it serves, but promises less than it could), ``refuse`` (opening raises
    StoreUnusable until somebody acts).  ``detail`` holds the values that the sentence names, so that the sentence can be
    told in another language by its code.
    """

    code: str  # noun_state, permanent
    level: Literal["ok", "warn", "refuse"]
    sentence: str  # English: what is, and what it means for the person who relies on this store
    remedy: str = ""  # English: what to do, "" when there is nothing to do
    detail: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class Diagnoses(Protocol):
    """A store that can tell how it is.  Every store of noonmark does."""

    def diagnose(self) -> list[Finding]:
        """Look at the server or file as it is now; reads only.

        Raises:
            StoreUnreachable: nobody answers.
        """
        ...


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
