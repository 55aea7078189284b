"""A person's acts: carried out by the store, with who and why in the ledger, and answered in words.

Rule of the file: ``done`` and ``requested`` exit 0, ``already_done`` and ``refused`` exit 3, ``not_found`` exits 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noonmark.core import phrasing
from noonmark.core.model import Act, Acted, Query, State
from noonmark.core.told import Told
from noonmark.explain.find import NotFound, parse_id, perhaps_lost
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Session

if TYPE_CHECKING:
    from noonmark.engine.deeds import Deed


def carry_out(here: Session, act: Act, *, done: str, what: str) -> int:
    """Carry out an act and say how it went: ``done`` is the answer's word, ``what`` names the object."""
    return answered(here, act, carried_out(here, act), done=done, what=what)


def carried_out(here: Session, act: Act) -> Acted:
    """Carry out an act and return the store's answer; what is not there is told as that."""
    answer = here.store.act(here.request_id(), act)
    if answer.outcome == "not_found":
        if act.key is not None:
            raise NotFound("no_open_key", "do_key_job", key=act.key)
        raise _no_occurrence(here, act.occurrence_id)
    return answer


def _no_occurrence(here: Session, number: int | None) -> NotFound:
    missing = NotFound("no_occurrence", "do_history", number=number)
    return perhaps_lost(missing, here.store, here.voice(here.one_zone or "UTC"))


def answered(here: Session, act: Act, answer: Acted, *, done: str, what: str, **more: object) -> int:
    """Say how an act that was carried out went; ``more`` is said in JSON only."""
    plain = {
        "v": 1,
        "outcome": answer.outcome,
        "ids": list(answer.ids),
        "state": answer.state.value if answer.state is not None else None,
        **more,
    }
    here.remember(lambda: _deeds(here, act, answer))  # first: the answer may find no reader
    here.emit(plain, lambda: _said(here, act, answer, done, what))
    return problems.OK if answer.outcome in ("done", "requested") else problems.REFUSED


def _deeds(here: Session, act: Act, answer: Acted) -> list[Deed]:
    from noonmark.engine.deeds import of_act

    rows = here.store.occurrences(Query(ids=(act.occurrence_id,))) if act.occurrence_id is not None else []
    deed = of_act(act, answer, next(iter(rows), None))
    return [] if deed is None else [deed]


def number_of(text: str) -> int:
    """Read an occurrence id or say how one is written."""
    try:
        return parse_id(text)
    except ValueError:
        raise problems.Trouble("no_id", text=text[:100]) from None


def must_exist(here: Session, number: int) -> None:
    """Say "not found" for an occurrence that is not there, before anything else is said."""
    if not here.store.occurrences(Query(ids=(number,))):
        raise _no_occurrence(here, number)


def reason_given(reason: str) -> str:
    """Return a reason, or refuse one that is only blanks."""
    if not reason.strip():
        raise problems.Trouble("empty_reason")
    return reason


def _said(here: Session, act: Act, answer: Acted, done: str, what: str) -> str:
    names = Told(", ".join(f"r{number}" for number in answer.ids)) or what
    state = phrasing.state(answer.state or "", here.lang)
    match answer.outcome:
        case "done":
            return here.word(done, names=names, key=act.key)
        case "requested" if answer.state is State.PENDING:  # the next moment of a series ends at its first look
            return here.word("is_noted", names=names)
        case "requested":
            return here.word("is_asked_to_stop", names=names)
        case "already_done" if act.kind == "end_job":
            return here.word("already_ended", names=names)
        case "already_done" if act.kind in ("pause", "resume"):
            return here.word("already_paused" if act.kind == "pause" else "already_resumed", names=names)
        case "already_done":
            return here.word("already_done", names=names, state=state)
    verb = act.kind.replace("_", " ")
    if answer.state is None:
        return here.word("act_refused_job", names=names, act=verb)
    if act.occurrence_id is not None and act.occurrence_id not in answer.ids:
        return here.word("act_refused_key", row=f"r{act.occurrence_id}", names=names, state=state)
    return here.word("act_refused", names=names, state=state, act=verb)
