"""What becomes, as things stand, of an occurrence that a person has just asked for.

Rule of the file: what waits will run and is no refusal; what would end without a run is said and exits 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noonmark.core.model import Event, Job, JobRow, Occurrence
from noonmark.explain.evidence import replay
from noonmark.faces.cli.session import Session

_ENDS = frozenset({Event.MISS, Event.SKIP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Whether it would start now, and if not, why; ``ends``: it is to end without having run."""

    would_run: bool
    ends: bool
    code: str
    sentence: str

    def plain(self) -> dict[str, Any]:
        """Return it as the ``as_things_stand`` of an answer in JSON."""
        return {"would_run": self.would_run, "ends": self.ends, "code": self.code, "sentence": self.sentence}


def standing(here: Session, rule: Job, job_row: JobRow, row: Occurrence) -> Standing:
    """Judge a row as the engine would judge it this moment."""
    voice = here.voice(rule.tz)
    decision = replay(rule, job_row, row, here.store.facts, here.now)
    if decision.event is Event.START:
        said = voice.say("as_things_stand_runs")
        return Standing(would_run=True, ends=False, code=decision.code, sentence=said)
    ends = decision.event in _ENDS
    word = "as_things_stand_ends" if ends else "as_things_stand_not"
    said = voice.say(word, reason=voice.reason(decision.code, decision.detail))
    return Standing(would_run=False, ends=ends, code=decision.code, sentence=said)


def remark_standing(here: Session, found: Standing) -> None:
    """Remark why a row does not start now, if it does not."""
    if not found.would_run:
        here.remark(found.sentence)
