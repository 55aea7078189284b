"""Proof that the search can fail: small bugs, put in while the program runs, each of which must be caught.

A bug replaces one piece of text in one function of the store or the engine.  Where that text is no longer there it is
refused: a bug that was not put in is not caught either.

Rule of the file: data, and the one way to put a bug in and take it out again.
"""

from __future__ import annotations
import __future__ as future

import importlib
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Final

from noonmark.core.lifecycle import TRANSITIONS
from noonmark.core.model import Event, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One bug.

    Args:
        name: what the bug does.
        place: ``module:function`` or ``module:Class.method``.
        old, new: the text that is replaced, and by what.
        scene: in which world it is caught.
        depth: within how many steps.
        law: which law catches it.
    """

    name: str
    place: str
    old: str
    new: str
    scene: str
    depth: int
    law: str


_MEMORY, _ENGINE = "noonmark.stores.memory.", "noonmark.engine."

BUGS: Final = (
    Bug(
        name="settle without a look at the fence",
        place=_MEMORY + "settling:settle",
        old="if row.fence != item.fence or not row.holder:",
        new="if not row.holder:",
        scene="one-key", depth=4, law="I3 S4",
    ),
    Bug(
        name="take grants a lease under the old fence",
        place=_MEMORY + "taking:_lease",
        old="fence=max(row.fence + 1, now)",
        new="fence=max(row.fence, row.created_at)",
        scene="one-key", depth=3, law="I2 S3",
    ),
    Bug(
        name="a lease that another has is renewed",
        place=_MEMORY + "store:MemoryStore._holds",
        old="and row.fence == fence\n        and row.holder == worker",
        new="",
        scene="one-key", depth=7, law="I3 S4",
    ),
    Bug(
        name="a signal wakes nobody",
        place=_MEMORY + "tables:Tables.set_fact",
        old="self.wakes[write.name] = None",
        new="pass",
        scene="waiting", depth=5, law="I4 wakes",
    ),
    Bug(
        name="a park forgets that the fact moved meanwhile",
        place=_MEMORY + "settling:_finish",
        old="if tables.moved(item.gates.facts.items()):",
        new="if False:",
        scene="waiting", depth=6, law="I4 wakes",
    ),
    Bug(
        name="a start does not compare what the decision saw",
        place=_MEMORY + "settling:_refusal",
        old="changed += [name for name in tables.moved(gates.facts.items()) if name not in changed]",
        new="",
        scene="series", depth=6, law="I5 S6 S8 S15",
    ),
    Bug(
        name="a start under a rule that was changed meanwhile",
        place=_MEMORY + "settling:_refusal",
        old="if job is None or job.revision != gates.revision:",
        new="if job is None:",
        scene="one-at-a-time", depth=6, law="I5 S6 S8 S15",
    ),
    Bug(
        name="take starts what has gates",
        place=_MEMORY + "taking:_may_start_at_once",
        old="and not row.gated",
        new="",
        scene="waiting", depth=7, law="I5 S6 S8 S15",
    ),
    Bug(
        name="a look that its rule overtook adds moments of its own",
        place=_MEMORY + "settling:settle",
        old="if derives(item, row.job, row.subject) and not (row.frontier and _is_in_force(tables, row.job, item)):",
        new="if _passes_on(row, item) and not _is_in_force(tables, row.job, item):",
        scene="overtaken", depth=9, law="I8",
    ),
    Bug(
        name="request ids are not looked up",
        place=_MEMORY + "store:MemoryStore._once",
        old="if known is not None and now - known[0] < KEPT:",
        new="if False:",
        scene="calls", depth=2, law="I12 request ids",
    ),
    Bug(
        name="a rule that takes a moment away forgets the cancel noted on it",
        place=_MEMORY + "activating:_end_superseded",
        old="if row.cancel_requested:",
        new="if False:",
        scene="overtaken", depth=9, law="I12 cancels",
    ),
    Bug(
        name="a start claims no key",
        place=_MEMORY + "settling:settle",
        old="_refusal(tables, row, item, now) or _claim_for_start(tables, row)",
        new="_refusal(tables, row, item, now)",
        scene="series", depth=5, law="I5 S6 S8 S15",
    ),
    Bug(
        name="two at a time where one is allowed",
        place=_MEMORY + "settling:_refusal",
        old="if gates.slot and tables.slots.get(gates.slot, (row.id, 0))[0] != row.id:",
        new="if False:",
        scene="one-at-a-time", depth=6, law="S14",
    ),
    Bug(
        name="the successor of a frontier is not added",
        place=_MEMORY + "settling:_add",
        old="if job is None or job.revision != revision:",
        new="if True:",
        scene="series", depth=4, law="I13 L1",
    ),
    Bug(
        name="take looks ten seconds ahead",
        place=_MEMORY + "taking:_due",
        old="row.due_at <= now and",
        new="row.due_at <= now + 10_000_000 and",
        scene="cancelled", depth=1, law="I5 S6 S8 S15",
    ),
    Bug(
        name="a lost lease is not counted",
        place=_MEMORY + "taking:_lease",
        old="takeovers=row.takeovers + run_lost",
        new="takeovers=row.takeovers",
        scene="lapsing", depth=6, law="I7",
    ),
    Bug(
        name="a lapsed run ends without a word",
        place=_MEMORY + "settling:_apply",
        old="if item.ledger:",
        new="if item.ledger and not item.alerts:",
        scene="lapsing", depth=6, law="X1",
    ),
    Bug(
        name="trust in a lease lasts longer than the lease",
        place=_ENGINE + "runs:trust_end",
        old="return asked + lease - min(lease // 20, 500_000)",
        new="return asked + 2 * lease",
        scene="one-key", depth=6, law="I2 S2",
    ),
    Bug(
        name="a takeover without a look at how often",
        place="noonmark.core.lapsed:judge",
        old="if row.takeovers > job.max_takeovers:",
        new="if False:",
        scene="lapsing", depth=6, law="I7",
    ),
    Bug(
        name="a row that waits for a person alarms nobody",
        place="noonmark.core.escalate:alerts_for",
        old="if event is Event.FAIL_MANUAL:",
        new="if False:",
        scene="lapsing", depth=2, law="I7",
    ),
    Bug(
        name="a row's limit is further away than its rule says",
        place="noonmark.core.series:row_for_moment",
        old="moment.at + max_delay",
        new="moment.at + 2 * max_delay",
        scene="overlap", depth=8, law="I5 S6 S8 S15",
    ),
    Bug(
        name="a list of moments begins a second late",
        place="noonmark.core.moments:_listed",
        old="times.parse_instant(text, trigger.tz)",
        new="times.parse_instant(text, trigger.tz) + 1_000_000",
        scene="overlap", depth=4, law="I8",
    ),
    Bug(
        name="a proof holds nothing",
        place=_MEMORY + "proving:prove",
        old="if judged.hold_before is not None:",
        new="if False:",
        scene="forgotten", depth=3, law="S13 X2",
    ),
    Bug(
        name="what is gone is called present",
        place="noonmark.core.receipts:is_there",
        old="if head is None or head.seq < receipt.seq:\n        return False",
        new="if head is None or head.seq < receipt.seq:\n        return True",
        scene="forgotten", depth=1, law="S13 told",
    ),
    Bug(
        name="nobody is waited for",
        place=_ENGINE + "chain:ChainedStore.take",
        old="if limit and self._waits():",
        new="if False:",
        scene="forgotten", depth=2, law="S13 X2",
    ),
    Bug(
        name="what may have run is not held",
        place="noonmark.core.rollback:held",
        old="if fact is None or not is_held(job, row, fact):",
        new="if True:",
        scene="forgotten", depth=5, law="S13 X2",
    ),
    Bug(
        name="a repeat that was let go says nothing",
        place="noonmark.core.rollback:flagged",
        old='code="restored_epoch",',
        new="",
        scene="forgotten", depth=10, law="S13 X2",
    ),
    Bug(
        name="a rollback alarms nobody",
        place=_MEMORY + "proving:prove",
        old="if judged.opened is not None:",
        new="if False:",
        scene="forgotten", depth=1, law="S13 told",
    ),
    Bug(
        name="a rollback is not written down",
        place=_MEMORY + "proving:prove",
        old="if judged.rollbacks is not None:",
        new="if False:",
        scene="forgotten", depth=1, law="S13 told",
    ),
    Bug(
        name="the rules are read anew and the rollbacks are not",
        place=_ENGINE + "adopting:Adopter._load",
        old="self._rules.lost_until = await self._gate.call(self._chain.recall)",
        new="await self._gate.call(self._chain.recall)",
        scene="forgotten", depth=5, law="S13 X2",
    ),
)  # fmt: skip


@contextmanager
def put_in(bug: Bug) -> Iterator[None]:
    """Let the program have this bug for a while.

    Raises:
        LookupError: the text to replace is not there, or more than once.
    """
    module_name, _, path = bug.place.partition(":")
    module = importlib.import_module(module_name)
    owner: Any = module
    *parts, name = path.split(".")
    for part in parts:
        owner = getattr(owner, part)
    before: FunctionType = getattr(owner, name)
    text = textwrap.dedent(inspect.getsource(before))
    old = bug.old
    if text.count(old) != 1:
        raise LookupError(f"bug {bug.name!r}: {bug.place} has {text.count(old)} times {old!r}")
    code = compile(text.replace(old, bug.new), f"<{bug.name}>", "exec", future.annotations.compiler_flag)
    made: dict[str, Any] = {}
    exec(code, module.__dict__, made)
    changed = _everywhere(before, made[name])
    try:
        yield
    finally:
        for place, attribute in changed:
            setattr(place, attribute, before)


def _everywhere(before: FunctionType, after: FunctionType) -> list[tuple[Any, str]]:
    """Put a function in the place of another wherever that was imported to; return where that was."""
    import sys

    found: list[tuple[Any, str]] = []
    for module in [each for name, each in sys.modules.items() if name.startswith("noonmark")]:
        for attribute, value in list(vars(module).items()):
            if value is before:
                found.append((module, attribute))
            elif inspect.isclass(value) and value.__module__ == module.__name__:
                found += [(value, own) for own, held in list(vars(value).items()) if held is before]
    for place, attribute in found:
        setattr(place, attribute, after)
    return found


@contextmanager
def success_overwritten() -> Iterator[None]:
    """The one bug of the table of transitions: a cancel ends what has succeeded."""
    step = (State.SUCCESS, Event.CANCEL)
    TRANSITIONS[step] = State.CANCELLED
    try:
        yield
    finally:
        del TRANSITIONS[step]
