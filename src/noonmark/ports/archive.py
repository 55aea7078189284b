"""The archive port: how everything that a namespace holds leaves one store and enters another.

Rule of the file: records are plain values in the words of ``core.model``, so that two stores need to agree on nothing but
this page.  Reading is paged and changes nothing.  Writing is repeatable: a page that arrives twice is written once, and
the place that was reached is kept with the page, so that a copy that was cut goes on where it stopped.

======================  ====================================================================================
kind                    fields
======================  ====================================================================================
``job``                 those of ``JobRow``
``revision``            those of ``JobRow``, with ``actor`` and ``at``; pause fields left out
``occurrence``          those of ``Occurrence``, with ``slot`` (name or ""), ``run_fence``, ``run_worker``, ``answered``
``claim``               ``key generation occurrence_id``
``slot``                ``name occurrence_id since``
``fact``                those of ``Fact``
``waiter``              ``fact version occurrence_id``: the row is parked until that fact leaves that version; for a
                        slot ``version`` is the row's place in the queue (``core.lifecycle.waits_under``)
``attempt``             those of ``Attempt``, but only attempts that are told by no occurrence row
``outcome``             ``occurrence_id fence``: a look that was answered
``note``                those of ``Note``, with ``occurrence_id``
``alert``               those of ``Alert``
``ledger``              those of ``LedgerLine``
``counter``             ``name value``: counts that no row tells and that are not 0 (``stale_refused``,
                        ``duplicates_refused``)
======================  ====================================================================================

Values are JSON values: enums are their text, flags are booleans, a fact's value is the value itself.  ``run_fence`` and
``run_worker`` are those of the attempt that the row tells, 0 and "" where none is; ``answered`` is the last fence that had
its outcome.  What comes in goes out again record for record (``noonmark.testing.conformance.archive_cases``).

Not copied: workers (they register themselves), remembered requests (an hour's memory; identities and fences still hold),
wake rows (the last page wakes whatever waits for a fact that moved).  Open rows that only one worker may take would wait
for ever where that worker is unknown: the last page leaves word that those workers are gone, so the next take ends them;
``Store.workers`` does not list them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from noonmark.core.values import dataclass

KINDS = (
    "job",
    "revision",
    "occurrence",
    "claim",
    "slot",
    "fact",
    "waiter",
    "attempt",
    "outcome",
    "note",
    "alert",
    "ledger",
    "counter",
)
"""In the order in which they are read and written: what is named comes before what names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One plain record; values are JSON values, instants UTC microseconds."""

    kind: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some records, and where the next page begins; ``cursor`` None: that was the last one."""

    records: tuple[Record, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """How far a namespace has come in being copied from ``source``; ``cursor`` None: the copy is complete."""

    source: str
    cursor: str | None

    @property
    def is_under_way(self) -> bool:
        """True while something is still to come, so that nobody can work with the namespace."""
        return self.cursor is not None


def highest_id(page: Page) -> int:
    """Return the highest occurrence id that the page speaks of, 0 when of none.

    A copy of a store that somebody still writes to may lack the row that a claim, an attempt or a ledger line is about;
    a new row that were given its id would come to a past that is not its own.
    """
    named = [record.fields.get(name) for record in page.records for name in ("occurrence_id", "duplicate_of")]
    own = [record.fields["id"] for record in page.records if record.kind == "occurrence"]
    return max((number for number in (*named, *own) if isinstance(number, int)), default=0)


class Archive(Protocol):
    """What a store offers beside its verbs so that a namespace can move.  Every store of noonmark has it."""

    def store_id(self) -> str:
        """Return the name that this namespace was given when it was made; no two have the same."""
        ...

    def export_page(self, cursor: str, limit: int) -> Page:
        """Read at most ``limit`` records from ``cursor`` on, kind after kind, in a fixed order.

        Args:
            cursor: "" = from the beginning, the name of a kind = from its first record, else one that a page gave.
            limit: most records of the page.
        """
        ...

    def import_page(self, source: str, page: Page) -> None:
        """Write a page and remember its cursor, in one transaction; ids, fences and sequence numbers are kept.

        The cursor is whatever the caller wants to find again in ``import_state``; None says that the copy is complete.
        New ids go on above the highest one that was copied, be it only named by another record (``highest_id``).

        Raises:
            StoreUnusable: the namespace holds something that did not come from ``source``.
        """
        ...

    def import_state(self) -> Import | None:
        """Return how far an import has come, None when none was ever begun."""
        ...

    def count_records(self) -> Mapping[str, int]:
        """Count the records of each kind that ``export_page`` would read, to compare two stores."""
        ...
