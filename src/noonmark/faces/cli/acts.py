"""A person's acts: carried out by the store, with who and why in the ledger, and answered in words.

Rule of the file: ``done`` and ``requested`` exit 0, ``already_done`` and ``refused`` exit 3, ``not_found`` exits 5.
"""

from __future__ import annotations

from noonmark.core.model import Act, Acted, Query, State
from noonmark.explain.find import NotFound, parse_id
from noonmark.faces.cli import problems
from noonmark.faces.cli.session import Session


def carry_out(here: Session, act: Act, *, done: str, done_zh: str, what: str) -> int:
    """Carry out an act and say how it went; ``what`` names its object."""
    answer = here.store.act(here.request_id(), act)
    if answer.outcome == "not_found":
        raise NotFound(f"there is no {what}", "noonmark history, or noonmark backlog")
    plain = {
        "v": 1,
        "outcome": answer.outcome,
        "ids": list(answer.ids),
        "state": answer.state.value if answer.state is not None else None,
    }
    here.emit(plain, lambda: _said(here, act, answer, done_zh if here.lang == "zh" else done, what))
    return problems.OK if answer.outcome in ("done", "requested") else problems.REFUSED


def number_of(text: str) -> int:
    """Read an occurrence id or say how one is written."""
    try:
        return parse_id(text)
    except ValueError as error:
        raise problems.Trouble(str(error), do="noonmark history shows them") from None


def must_exist(here: Session, number: int) -> None:
    """Say "not found" for an occurrence that is not there, before anything else is said."""
    if not here.store.occurrences(Query(ids=(number,))):
        raise NotFound(f"there is no occurrence r{number}", "noonmark history")


def _said(here: Session, act: Act, answer: Acted, done: str, what: str) -> str:
    zh = here.lang == "zh"
    names = ", ".join(f"r{number}" for number in answer.ids) or what
    state = answer.state.value if answer.state is not None else "?"
    match answer.outcome:
        case "done":
            return f"{names} {done}"
        case "requested" if answer.state is State.PENDING:  # the next moment of a series ends at its first look
            return f"{names} 已记下取消：到期时即取消" if zh else f"{names} will be cancelled when its moment comes"
        case "requested":
            return f"{names} 正在运行：已请求其停止" if zh else f"{names} is running: its worker was asked to stop"
        case "already_done":
            return (
                f"{names} 已经完成（{state}），未作改动"
                if zh
                else f"{names} is already done ({state}), nothing was changed"
            )
    verb = act.kind.replace("_", " ")
    if zh:
        return f"已拒绝：{names} 处于 {state}，不能执行 {verb}"
    return f"refused: {names} is {state}, so it cannot be asked to {verb}"
