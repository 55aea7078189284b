"""What becomes, as things stand, of an occurrence that a person has just asked for.

Rule of the file: what waits will run and is no refusal; what would end without a run is said and exits 3.
"""

from __future__ import annotations

from noonmark.core.model import Event, Job, JobRow, Occurrence
from noonmark.explain.evidence import replay
from noonmark.faces.cli.session import Session

_ENDS = frozenset({Event.MISS, Event.SKIP})


def ends_without_a_run(here: Session, rule: Job, job_row: JobRow, row: Occurrence) -> bool:
    """Remark why the row does not start now, if it does not; return True when it is to end without having run."""
    decision = replay(rule, job_row, row, here.store.facts, here.now)
    if decision.event is Event.START:
        return False
    voice = here.voice(rule.tz)
    said = "as_things_stand_ends" if decision.event in _ENDS else "as_things_stand_not"
    here.remark(voice.say(said, reason=voice.reason(decision.code, decision.detail)))
    return decision.event in _ENDS
