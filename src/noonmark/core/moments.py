"""Which moments a rule yields: the next, the one before, and those in between.

Promise: moments strictly increase, searching forwards and backwards tells one story, and no search is unbounded.  Rule
of the file: a moment is derived from the rule alone; no row, no store and no last run is looked at (a grid belongs to
the rule, docs/semantics.md 4).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from noonmark.core import times, zones
from noonmark.core.cron import parse_cron
from noonmark.core.model import HOUR, MINUTE, At, Cron, Every, Job, Micros
from noonmark.core.model.quick import quick
from noonmark.core.values import dataclass


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One due moment of a rule.

    ``identity`` outlives edits and new zone data (docs/semantics.md 4); ``nominal`` is the local time meant, with its zone;
    ``meant`` is that time as wall-clock microseconds where the clock at ``at`` shows another one (the end of a gap).
    """

    at: Micros
    identity: str
    nominal: str
    business_date: str
    meant: Micros | None = None

    @property
    def is_local(self) -> bool:
        """True when the moment is known by its local time, not by its instant."""
        return self.identity.startswith("c:")


def next_moment(job: Job, after: Micros) -> Moment | None:
    """Return the first moment strictly after the instant; None for triggers without moments, and after the last."""
    trigger = job.trigger
    if isinstance(trigger, Every):
        _check_period(trigger)
        steps = (after - trigger.anchor) // trigger.period + 1
        return _absolute(job, trigger.anchor + steps * trigger.period)
    if isinstance(trigger, Cron):
        at = parse_cron(trigger.expression, trigger.tz).next_after(after)
        return None if at is None else _of_cron(job, trigger, at)
    if isinstance(trigger, At):
        listed = _listed(trigger)
        index = bisect_right(listed, after, key=lambda entry: entry[0])
        return _of_list(job, trigger, *listed[index]) if index < len(listed) else None
    return None


def previous_moment(job: Job, before: Micros) -> Moment | None:
    """Return the last moment strictly before the instant; None for triggers without moments, and before the first."""
    trigger = job.trigger
    if isinstance(trigger, Every):
        _check_period(trigger)
        steps = (before - 1 - trigger.anchor) // trigger.period
        return _absolute(job, trigger.anchor + steps * trigger.period)
    if isinstance(trigger, Cron):
        at = parse_cron(trigger.expression, trigger.tz).previous_before(before)
        return None if at is None else _of_cron(job, trigger, at)
    if isinstance(trigger, At):
        listed = _listed(trigger)
        index = bisect_left(listed, before, key=lambda entry: entry[0])
        return _of_list(job, trigger, *listed[index - 1]) if index else None
    return None


def moment_at(job: Job, at: Micros) -> Moment | None:
    """Return the moment at exactly this instant, None when the rule yields none there."""
    moment = next_moment(job, at - 1)
    return moment if moment is not None and moment.at == at else None


def moments_between(job: Job, after: Micros, until: Micros, *, limit: int) -> list[Moment]:
    """Return the first ``limit`` moments with ``after < at <= until`` (UTC microseconds), oldest first."""
    found: list[Moment] = []
    for moment in _walk(job, after, until):
        if len(found) >= limit:
            break
        found.append(moment)
    return found


def count_between(job: Job, after: Micros, until: Micros, *, limit: int) -> int:
    """Count the moments with ``after < at <= until``; -1 when there are more than ``limit``."""
    trigger = job.trigger
    if until <= after:
        return 0
    if isinstance(trigger, Every):
        _check_period(trigger)
        count = (until - trigger.anchor) // trigger.period - (after - trigger.anchor) // trigger.period
        return count if count <= limit else -1
    if isinstance(trigger, Cron):
        rule, count = parse_cron(trigger.expression, trigger.tz), 0
        at = rule.next_after(after)
        while at is not None and at <= until:
            count += 1
            if count > limit:
                return -1
            at = rule.next_after(at)
        return count
    count = 0
    for _ in _walk(job, after, until):
        count += 1
        if count > limit:
            return -1
    return count


def default_max_delay(job: Job, scheduled: Micros) -> Micros | None:
    """Return how late a first start may be, microseconds; None is without limit (docs/semantics.md 6).

    The rule's own ``max_delay`` comes first.  Else a window limits by its end, and ``at`` has no limit; ``cron`` and
    ``every`` allow the shortest gap of the rule, at least a minute and at most an hour.

    Args:
        job: the rule.
        scheduled: the moment, UTC microseconds (the limit of a rule is the same for all its moments today).
    """
    del scheduled
    if job.catch_up.max_delay is not None:
        return job.catch_up.max_delay
    trigger = job.trigger
    if job.window is not None or not isinstance(trigger, (Cron, Every)):
        return None
    gap = trigger.period if isinstance(trigger, Every) else parse_cron(trigger.expression, trigger.tz).shortest_gap
    return min(max(gap, MINUTE), HOUR)


def _walk(job: Job, after: Micros, until: Micros) -> Iterator[Moment]:
    moment = next_moment(job, after)
    while moment is not None and moment.at <= until:
        yield moment
        moment = next_moment(job, moment.at)


def _absolute(job: Job, at: Micros) -> Moment:
    return Moment(
        at=at,
        identity=f"t:{at}",
        nominal=times.nominal_text(at, job.tz),
        business_date=times.business_date(at, job.tz, job.business_date),
    )


def _of_cron(job: Job, trigger: Cron, at: Micros) -> Moment:
    rule = parse_cron(trigger.expression, trigger.tz)
    wall = rule.wall_of(at) if rule.is_fixed_time else None
    return _absolute(job, at) if wall is None else _local(job, at, zones.naive_local(wall))


def _of_list(job: Job, trigger: At, at: Micros, text: str) -> Moment:
    named = times.local_text(text, trigger.tz)
    return _absolute(job, at) if named is None else _local(job, at, named)


def _local(job: Job, at: Micros, naive: datetime) -> Moment:
    """Make a moment that is known by its local time; such a time happens once, so its fold is the first."""
    shown = times.local(at, job.tz).replace(tzinfo=None, fold=0)
    return Moment(
        at=at,
        identity=f"c:{job.tz}:{naive.isoformat()}:0",
        nominal=f"{naive.isoformat()} {job.tz}",
        business_date=times.business_date_of(naive.date(), job.business_date),
        meant=None if shown == naive else zones.local_micros(naive),
    )


@lru_cache(maxsize=1024)
def _listed(trigger: At) -> tuple[tuple[Micros, str], ...]:
    """Return the list in order of time; of two texts that name one instant the first written stays."""
    found: dict[Micros, str] = {}
    for text in trigger.moments:
        found.setdefault(times.parse_instant(text, trigger.tz), text)
    return tuple(sorted(found.items()))


def _check_period(trigger: Every) -> None:
    if trigger.period <= 0:
        raise ValueError(f"every needs a period longer than nothing, not {trigger.period} microseconds")
