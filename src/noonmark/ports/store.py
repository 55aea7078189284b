"""The store port: five verbs and a few reads, which every store keeps in the same sense.

Rule of the file: a store knows no cron, no zone and no policy.  It compares integers, versions and fences, and does
each verb as one transaction.  A loser gets an answer, never an exception; an exception (``StoreError``) means that the
outcome is unknown or the store is away.

* The port is synchronous (ADR 0004): verbs are batched, so one dedicated thread per process is enough, and the command
  line needs no event loop.
* ``request_id`` is made by the caller, once per intention.  Repeating a verb with the same id within an hour returns the
  first answer and changes nothing.  It is looked up *before* any fence.
* What is larger than the limits of ``core/model/base.py`` is refused with ``TooLarge`` before anything is written
  (``core/wellformed.py``).
* ``at`` replaces the store's clock, for tests only.  Everybody else leaves it out: the store's own clock decides.
* ``link`` is given only to a store that says ``Capability.PROVES``; what it means stands in ``ports/rollback.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from noonmark.core.model import (
    Act,
    Acted,
    Activation,
    Added,
    Fact,
    JobRow,
    Micros,
    NewOccurrence,
    Note,
    Occurrence,
    Query,
    Renewal,
    Renewed,
    Settled,
    Settlement,
    Story,
    Taken,
    Tallies,
    WorkerInfo,
)
from noonmark.core.model.rollback import ChainLink
from noonmark.core.urls import without_quoted_secrets


class StoreError(Exception):
    """The store did not answer, so the outcome is unknown: repeat with the same request id."""


class StoreUnreachable(StoreError):
    """The store is away (locked beyond patience, connection refused, disk gone); it may come back."""


class StoreUnusable(StoreError):
    """The store cannot serve at all until a person acts (corrupt, read-only, from a newer version)."""


class StoreFull(StoreUnreachable):
    """It has no room left, or cannot save: nothing of the change was kept, and waiting goes on until there is room."""


class StoreUrlError(StoreUnusable, ValueError):
    """The URL names no store that can be opened; the message says what to write instead.

    No secret of the URL stands in it, whatever it quotes.
    """

    def __init__(self, said: str = "") -> None:
        super().__init__(without_quoted_secrets(said))


class StoreDriverMissing(StoreUrlError):
    """The URL is fine, but the package that speaks to such a server is not installed here; the message says how to."""


class Capability(StrEnum):
    """What stores may differ in, by name and never silently."""

    SHARED = "shared"  # several processes may use it at once
    NOTIFY = "notify"  # listeners hear of earlier due moments at once; may come and go with a connection
    CALLER_TRANSACTION = "caller-transaction"  # see CallerTransactions
    PROVES = "proves"  # take and settle accept links, and a rollback is told, see ports.rollback.Guarded
    DURABLE_PROCESS = "durable-process-crash"  # what was acknowledged survives the end of the store's process,
    DURABLE_HOST = "durable-host-crash"  # ... a power cut of its machine,
    DURABLE_FAILOVER = "durable-failover"  # ... and the loss of that machine, because a replica had it first
    FAILOVER_LOSS = "failover-loss"  # there are replicas, and one that takes over may lack the last acknowledged writes


class Store(Protocol):
    """A place where occurrences live.  Facts are named, see ``facts``."""

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this store, as opened, can promise."""
        ...

    def now(self) -> Micros:
        """Return the store's time."""
        ...

    # -- the verbs ----------------------------------------------------------------------------

    def add(self, request_id: str, rows: Sequence[NewOccurrence], *, at: Micros | None = None) -> list[Added]:
        """Insert occurrences; an identity that is there already is answered, not inserted.

        A row with ``claim`` takes its key.  Where the key is held the row is recorded as SKIPPED (skip_duplicated) with
        ``duplicate_of``.  Held means: by an open, FAILED_MANUAL or SUCCESS row; by a SKIPPED or CANCELLED row only against
        rows that are neither MANUAL nor BACKFILL (those take it over as the next generation).  ``again`` takes over any
        *ended* holder as the next generation.
        """
        ...

    def take(
        self,
        request_id: str,
        worker: str,
        *,
        limit: int,
        runnable: Mapping[str, Micros],
        look_lease: Micros,
        at: Micros | None = None,
        link: ChainLink | None = None,
    ) -> Taken:
        """Lease at most ``limit`` due rows to the worker, oldest due first, each under a new fence.

        ``runnable`` maps job name -> lease length for the jobs this worker can run.  A row is *started* at once (RUNNING,
        attempt + 1, lease of that length) when its job is in ``runnable``, it is PENDING or FAILED_RETRYING, not gated, no
        frontier, has its key claimed, its revision is the job's, the job is not paused, the row's window is open
        (``not_before <= now < not_after``), and it either was started before or is within ``expires_at``, and no cancel was
        requested.  Every other row comes ``looking``: state unchanged, ``look_lease`` long.  A RUNNING row whose lease ended
        is looked at too: its open attempt is recorded as ``lost``, ``lost`` and ``takeovers`` grow, the old fence is void
        from here on.  A row that lost a lease before is taken alone: it comes only as the sole row of an answer.
        Rows with a ``worker`` come only to that worker.
        ``fence = max(last + 1, now)``.  On the way it wakes waiting rows of signalled facts (at most 1,000 a call) and, for
        workers not heard of in time, cancels the rows that only they could take (their ends: CANCELLED, code worker_gone).
        """
        ...

    def settle(
        self,
        request_id: str,
        worker: str,
        items: Sequence[Settlement],
        *,
        at: Micros | None = None,
        link: ChainLink | None = None,
    ) -> list[Settled]:
        """Apply outcomes, all in one transaction, each one guarded by its fence and judged by itself.

        The state follows ``core.lifecycle.next_state``.  ``start``: compares the gates (job revision, pause version, fact
        versions, window, expiry for a first start, a free slot and no other slot of its own) and claims the key if the row
        has not; refusing leaves the look lease in place so that the caller can decide again.  An answered fence (same
        occurrence, same fence, settled already) is ``applied`` again, with no second effect.  Ending a row releases its slot
        and, for skip_superseded, its key; of the rows parked on that slot the one with the oldest scheduled time is due now;
        its ``due_at`` becomes None.  PARK with ``gates.facts``: if one of the versions moved, ``due_at`` becomes now;
        one that saw ``core.rollback.FACT`` gates the row, for its start has to be looked at (``core.rollback.needs_look``).
        ``adds`` whose identity exists are left alone, except that a row ended skip_superseded is reopened: one that is not
        yet due, and one that a revision ended (code revision_superseded) although the revision in force, in effect before
        its moment, yields it.  A frontier row is added only while the job's revision is the settlement's ``gates.revision``.
        An outcome that brings moments of the row's own series (``core.wellformed.derives``) is answered ``changed`` unless
        the row is still the frontier and ``gates.revision`` in force: the series must not end there, and no rule may run
        moments from before or after its time.
        With a cancel requested, any end but SUCCESS becomes CANCELLED, and a PARK is looked at again within a second.
        """
        ...

    def renew(self, worker: str, leases: Sequence[Renewal], *, at: Micros | None = None) -> Renewed:
        """Extend the leases that are still ours (same fence, RUNNING, not looked at by somebody else)."""
        ...

    def signal(self, request_id: str, facts: Sequence[Fact], *, at: Micros | None = None) -> list[int]:
        """Set (value not None) or clear facts by name, return their new versions, and wake what waits for them.

        Setting a fact to the value it already has changes nothing and keeps its version: a hundred deliveries are one.
        """
        ...

    def heartbeat(self, worker: WorkerInfo, ttl: Micros, *, at: Micros | None = None) -> Micros:
        """Record that the worker lives (``ended_at`` set: that it stopped by itself), return the store's time."""
        ...

    def activate(
        self, request_id: str, changes: Sequence[Activation], *, actor: str, at: Micros | None = None
    ) -> list[JobRow]:
        """Make declared rules the ones in force, each guarded by ``expected_revision``; return the rows as they are then.

        Same digest: nothing but missing frontier rows is added.  Another digest: revision + 1, in force from
        ``effective_at``; of the job's open scheduled rows whose ``scheduled_for`` is later, one with the identity of a new
        frontier is re-stamped (gates, key, revision), the others end skip_superseded; rows already due lose their frontier
        flag and take the new revision, but keep identity, key and date.  A row that is not yielded again and of which a
        cancel was requested ends CANCELLED instead.  A frontier identity that ended skip_superseded is reopened.
        A mismatch of ``expected_revision`` changes nothing: the caller compares digests in the answer.
        ``passed`` are overdue frontier rows as the caller read them: where one is a frontier no more or under another fence,
        the whole change does nothing.  Else each ends SKIPPED by its verdict, or stays open without its frontier flag, and
        ``adds`` go in; an open one meets another digest as a row that is due.  The same digest takes them, too: so that a
        very long absence is worked off in steps, an add may then be the next frontier.
        Rows with a ``worker`` (scope each_worker) are touched only by frontiers of that worker.
        """
        ...

    def act(self, request_id: str, act: Act, *, at: Micros | None = None) -> Acted:
        """Carry out a person's act, with who and why in the ledger.

        release: a row that a rollback held (code held_rollback, under no lease) is due now and judged as a retry is;
        where ``epochs`` is given, ``refused`` if a rollback holds it that is not named there or whose lost range grew.
        Naming no row it lets the rollbacks in ``epochs`` go, of ``job`` or of all, all or none (``refused``: one has grown);
        when nothing is held any more the alert closes.  See ``core.releasing``, in one transaction with the fact.
        It takes no cancel back: a row of which one was requested is due, and its look ends it.
        mark_done: ``refused`` where another row has the key; the answer is of that row then, and of its state.
        mark_*: where ``epochs`` is given, refused as a release of the row is.  A row with code held_rollback that nobody
        holds can be marked or cancelled at once, RUNNING or frontier (it was looked at, so nothing comes after it) or not;
        every other run is its holder's to end, every other frontier its first look's.  mark_done is heard of a moment that
        catch-up passed over (skip_superseded, missed_skipped), too, for it may have run: it takes its key back, or is
        ``refused`` where another has it.

        cancel by key finds every open row with it, and an unknown key is held by a new CANCELLED row; a RUNNING row is
        asked (``requested``), a frontier too, which ends at its first look (ADR 0012); SUCCESS answers ``already_done``.
        retry: FAILED_MANUAL back to PENDING, due now, attempts and takeovers fresh, gates as the job's today.
        end_job: the rule is taken back as of ``effective_at`` (default now), as by a revision that yields nothing;
        ``passed`` and ``adds`` as in ``activate`` (``refused``: they are out of date).
        """
        ...

    def note_if_held(
        self, worker: str, occurrence_id: int, fence: int, note: Note, *, at: Micros | None = None
    ) -> bool:
        """Write a remark of a run, if the fence is still the row's and it runs; False (counted) otherwise.

        ``step``, ``intent`` and ``done`` are kept for the occurrence (first write wins), ``progress`` is overwritten.
        """
        ...

    # -- the reads ----------------------------------------------------------------------------

    def facts(self, names: Collection[str]) -> dict[str, Fact]:
        """Return a Fact for every name asked for (version 0 where there is none).

        ``flag:NAME``, ``success:JOB:SUBJECT:DATE`` and ``away:WORKER`` are stored facts.  ``key:KEY`` has as value a dict
        with occurrence_id, state, generation, origin, job, ended_at of the claim's holder.  ``slot:JOB:SUBJECT`` has the
        occupant's occurrence_id and since.  ``worker:ID`` has the WorkerInfo fields host, pid, process_started, boot_id,
        until, ended_at.
        """
        ...

    def occurrences(self, query: Query) -> list[Occurrence]:
        """Read occurrences."""
        ...

    def story(self, occurrence_id: int) -> Story | None:
        """Read everything about one occurrence."""
        ...

    def jobs(self, names: Collection[str] | None = None, *, event: str | None = None) -> list[JobRow]:
        """Read the jobs as they are now, all of them, by name, or those waiting for an event."""
        ...

    def workers(self) -> list[WorkerInfo]:
        """Read every worker ever heard of, newest first."""
        ...

    def tallies(self, *, revisions: bool | Collection[str] = False) -> Tallies:
        """Count, for backlog and overview; with ``revisions`` also tell what was done to the rules of jobs.

        True: every revision of every job, and what people did to jobs.  Names: the revisions of these jobs alone, and no
        acts; what that costs does not grow with other jobs.
        """
        ...

    # -- the rest ------------------------------------------------------------------------------

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back (from any thread) when something became due earlier than known; return a function that stops it."""
        ...

    def close(self) -> None:
        """Give back files, sockets and threads.  Calling it twice does no harm."""
        ...


class CallerTransactions(Protocol):
    """A store (``Capability.CALLER_TRANSACTION``) whose rows can be added by a transaction that the caller began.

    Either both the caller's writes and the occurrences are there, or neither: the outbox of those who need one.
    """

    def add_within(self, connection: object, request_id: str, rows: Sequence[NewOccurrence]) -> list[Added]:
        """Do what ``add`` does inside the open transaction of ``connection``; neither commit nor roll back.

        Args:
            connection: the driver's own connection to this store's database, or a SQLAlchemy ``Connection`` or
                ``Session`` over it.
            request_id, rows: as in ``add``; the store's own clock decides.

        Raises:
            ValueError: no connection of this store's database; the message says which kinds are.
        """
        ...
