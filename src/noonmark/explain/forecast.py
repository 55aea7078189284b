"""What is coming: a job's next moments, in local time and UTC, with what daylight saving and the guards make of them.

Rule of the file: pure; the rule and the time are arguments.  A forecast shows, it never decides (docs/semantics.md 1).
"""

from __future__ import annotations

from datetime import datetime

from noonmark.core import phrasing, series, times, zones
from noonmark.core.model import Job, JobRow, Micros
from noonmark.core.series import Moment
from noonmark.core.values import dataclass
from noonmark.explain.voice import Voice


@dataclass(frozen=True, slots=True, kw_only=True)
class Coming:
    """One moment to come.  ``would_run`` False: the calendar guard or a pause excludes it already now."""

    at: Micros
    local: str
    offset: str
    utc: str
    distance: str
    business_date: str
    would_run: bool = True
    notes: tuple[str, ...] = ()


def over_since(job: Job, after: Micros) -> str:
    """Return the last moment of a series of which nothing comes after ``after``, "" where something does or may."""
    if not job.is_series or series.next_moment(job, after) is not None:
        return ""
    last = series.previous_moment(job, after + 1)
    return f"{times.local(last.at, job.tz):%Y-%m-%d %H:%M} {job.tz}" if last is not None else ""


def coming(
    job: Job,
    after: Micros,
    count: int,
    voice: Voice,
    *,
    job_row: JobRow | None = None,
    until: Micros | None = None,
) -> tuple[Coming, ...]:
    """Return the next moments of a job, strictly after ``after`` and up to ``until`` (both UTC microseconds).

    Empty for jobs whose trigger yields no moments by itself, and at the end of a list of times.
    """
    found: list[Coming] = []
    previous = after = times.told(after)
    offset_before = _offset(after, voice.zone)
    while len(found) < count:
        moment = series.next_moment(job, previous)
        if moment is None or (until is not None and moment.at > until):
            break
        offset = _offset(moment.at, voice.zone)
        notes = _clock_notes(job, moment, offset_before, offset, voice)
        would_run, why = _guarded(job, job_row, moment.at, voice)
        local = times.local(moment.at, voice.zone)
        found.append(
            Coming(
                at=moment.at,
                local=f"{_day(moment.at, voice.zone, voice.lang)} {local:%Y-%m-%d} {voice.clock(moment.at)}",
                offset=offset,
                utc=f"{times.clock_text(moment.at, 'UTC')}Z",
                distance=voice.distance(moment.at),
                business_date=moment.business_date,
                would_run=would_run,
                notes=(*notes, *why),
            )
        )
        previous, offset_before = moment.at, offset
    return tuple(found)


def _day(us: Micros, zone: str, lang: str) -> str:
    short = times.weekday_name(us, zone)
    return phrasing.day(short, lang) if lang == "zh" else short


def _offset(us: Micros, zone: str) -> str:
    return times.local(us, zone).isoformat()[-6:]


def _clock_notes(job: Job, moment: Moment, before: str, offset: str, voice: Voice) -> tuple[str, ...]:
    notes = []
    if offset != before:
        back = _minutes(offset) < _minutes(before)
        notes.append(voice.say("dst_back" if back else "dst_forward", old=before, new=offset))
    if moment.meant is not None:
        notes.append(voice.say("dst_gap", nominal=_nominal(job, moment.at, zones.naive_local(moment.meant), voice)))
    elif moment.is_local and _happens_twice(moment.at, job.tz):
        shown = times.local(moment.at, job.tz).replace(tzinfo=None)
        notes.append(voice.say("dst_fold", nominal=_nominal(job, moment.at, shown, voice)))
    return tuple(notes)


def _nominal(job: Job, at: Micros, meant: datetime, voice: Voice) -> str:
    """Say a local time of the job as far as the line before it does not: its date and its zone only if they are others."""
    clock = f"{meant:%H:%M:%S}" if meant.second else f"{meant:%H:%M}"
    dated = clock if meant.date().isoformat() == times.local_date(at, voice.zone) else f"{meant.date()} {clock}"
    return dated if job.tz == voice.zone else f"{dated} {job.tz}"


def _happens_twice(at: Micros, zone: str) -> bool:
    local = times.local(at, zone)
    return local.replace(fold=0).utcoffset() != local.replace(fold=1).utcoffset()


def _minutes(offset: str) -> int:
    sign = -1 if offset.startswith("-") else 1
    return sign * (int(offset[1:3]) * 60 + int(offset[4:6]))


def _guarded(job: Job, job_row: JobRow | None, at: Micros, voice: Voice) -> tuple[bool, tuple[str, ...]]:
    if job_row is not None and job_row.paused:
        return False, (voice.say("next_paused"),)
    if not job.guardrails.allow_weekend and times.is_weekend(at, job.tz):
        return False, (voice.say("next_weekend", day=phrasing.day(times.weekday_name(at, job.tz), voice.lang)),)
    return True, ()
