"""``noonmark retry``: a person takes an occurrence that failed for good back into the queue."""

from __future__ import annotations

import click

from noonmark.core.model import Act, Query, State
from noonmark.explain.find import read_rule
from noonmark.faces.cli import problems
from noonmark.faces.cli.acts import answered, carried_out, must_exist, number_of
from noonmark.faces.cli.memories import from_state, state_option
from noonmark.faces.cli.session import Command, Session, session
from noonmark.faces.cli.standing import Standing, remark_standing, standing


@click.command(cls=Command, acts=True)
@click.argument("occurrence")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept in the ledger.")
@state_option
@click.pass_context
def retry(ctx: click.Context, occurrence: str, reason: str) -> int:
    """Try an occurrence (123 or r123) that needs a person again: same key, steps kept, attempts fresh.

    Today's window binds it: where it is over as things stand, so that no try would be made, the exit code is 3.
    Where nobody knew whether an outside effect happened (ctx.once), it is caused again: look before.
    """
    number = number_of(occurrence)
    with session(ctx) as here:
        must_exist(here, number)
        _refuse_known(here, number)
        is_answer = here.store.occurrences(Query(ids=(number,)))[0].code == "effect_unknown"
        act = Act(kind="retry", actor=here.actor, reason=reason, occurrence_id=number)
        answer = carried_out(here, act)
        found = _standing(here, number) if answer.outcome == "done" else None
        said = found.plain() if found is not None else None
        code = answered(here, act, answer, done="is_due_again", what=f"r{number}", as_things_stand=said)
        if is_answer and answer.outcome == "done":
            here.remark(here.word("retry_causes"))
        if found is not None:
            remark_standing(here, found)
        return problems.REFUSED if found is not None and found.ends else code


def _standing(here: Session, number: int) -> Standing | None:
    (row,) = here.store.occurrences(Query(ids=(number,)))
    job_row = next(iter(here.store.jobs([row.job])), None)
    rule = read_rule(job_row) if job_row is not None else None
    if job_row is None or rule is None or row.state is not State.PENDING:  # a worker may have it by now
        return None
    return standing(here, rule, job_row, row)


def _refuse_known(here: Session, number: int) -> None:
    """Let nothing be tried again of which a worker's journal knows that it succeeded in what the store lost."""
    from noonmark.engine.mending import epochs, runs_on_rollback
    from noonmark.engine.witnessing import ran_before

    found = epochs(here.store)
    witness = here.witness if found or here.settings.state else None  # a folder that was named is looked at anyhow
    row = next(iter(here.store.occurrences(Query(ids=(number,)))), None)
    if witness is None or row is None or row.job in runs_on_rollback(here.store):
        return
    seen = ran_before(row, found, witness)
    if seen is not None:
        told = {"row": f"r{number}", "writer": seen.writer, "state": from_state(here.settings)}
        raise problems.Trouble("retry_known", **told, code=problems.REFUSED)
