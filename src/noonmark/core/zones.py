"""Zones: whose rules are read, and how a zone's wall clock runs against real time.

Promise: every replica reads the same rules, those of the tzdata package, and the wall clock is exact through gaps and
folds.  Rule of the file: a zone is a row of stretches of constant offset; arithmetic happens on integers within one
stretch, never by adding to an aware datetime (that adds wall time and forgets the fold).
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import tzdata

from noonmark.core.model import DAY, SECOND, Micros
from noonmark.core.values import dataclass

# The host's zone files may be older than a neighbour's: two replicas, two instants.  Named as a path, the package's
# files are found without importlib.resources, which alone would cost a command line 25 ms.
zoneinfo.reset_tzpath(to=[f"{folder}/zoneinfo" for folder in tzdata.__path__])
ZoneInfo.clear_cache()

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_DATE = date(1970, 1, 1)
EARLIEST: Micros = -62_135_596_800 * SECOND + 400 * DAY
LATEST: Micros = 253_402_300_800 * SECOND - 400 * DAY
"""Instants are looked at within the years 2 to 9998, so that no offset leads outside the calendar."""

_NAIVE_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the origin of wall-clock time, which has no zone


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """Return the zone of this IANA name, with the rules of the tzdata package.

    Raises:
        ValueError: no such zone; the text names the nearest one.
    """
    try:
        return ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError, TypeError):
        raise ValueError(_unknown_zone(name)) from None


def tzdata_version() -> str:
    """Return the version of the zone rules in use, such as ``2026.6``."""
    return str(tzdata.__version__)


def _unknown_zone(name: str) -> str:
    text = str(name)[:60]
    if not text:
        return "the time zone is empty; write an IANA name such as Asia/Shanghai or UTC"
    from noonmark.core import zonenames  # only on the way to an error: it costs start-up time

    near = zonenames.meant(text)
    hint = f"did you mean {near}?" if near else "use an IANA name such as Asia/Shanghai, Europe/Berlin or UTC"
    return f'"{text}" is no time zone; {hint}'


# --- stretches of constant offset --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A span of real time, ``start <= t < end``, in which the zone's offset is constant.

    ``before`` is the offset just before ``start``: larger than ``offset`` means a fold begins here, smaller a gap.
    """

    start: Micros
    end: Micros
    offset: Micros
    before: Micros


def stretch_at(us: Micros, tz: str) -> Stretch:
    """Return the stretch that contains the instant (stretches also end where a UTC year does)."""
    for stretch in _stretches(tz, _utc_year(us)):
        if us < stretch.end:
            return stretch
    raise AssertionError("the stretches of a year cover it")


def stretches_from(us: Micros, tz: str) -> Iterator[Stretch]:
    """Yield the stretch that contains ``us`` and those after it, up to the last year that is looked at."""
    if not EARLIEST <= us < LATEST:
        return
    for year in range(_utc_year(us), 9999):
        for stretch in _stretches(tz, year):
            if stretch.end > us:
                yield stretch


def stretches_back(us: Micros, tz: str) -> Iterator[Stretch]:
    """Yield the stretch that contains ``us`` and those before it, back to the first year that is looked at."""
    if not EARLIEST <= us < LATEST:
        return
    for year in range(_utc_year(us), 1, -1):
        for stretch in reversed(_stretches(tz, year)):
            if stretch.start <= us:
                yield stretch


@lru_cache(maxsize=8192)
def _stretches(tz: str, year: int) -> tuple[Stretch, ...]:
    """Cut one UTC year of a zone at its changes of offset."""
    info = zone(tz)
    start, end = year_start(year), year_start(year + 1)
    found: list[Stretch] = []
    known, began, before = _offset(start, info), start, _offset(start - 1, info)
    probe = start
    while probe < end:
        # Half a day: no zone changes twice within one.
        following = min(probe + DAY // 2, end)
        offset = _offset(following, info) if following < end else _offset(end - 1, info)
        if offset != known:
            change = _change(probe, following, info)
            found.append(Stretch(start=began, end=change, offset=known, before=before))
            known, began, before = offset, change, known
        probe = following
    found.append(Stretch(start=began, end=end, offset=known, before=before))
    return tuple(found)


def _change(low: Micros, high: Micros, info: ZoneInfo) -> Micros:
    """Return the first instant, in whole seconds, with another offset than at ``low``."""
    offset, low, high = _offset(low, info), low // SECOND, -(-high // SECOND)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset(middle * SECOND, info) == offset:
            low = middle
        else:
            high = middle
    return high * SECOND


def _offset(us: Micros, info: ZoneInfo) -> Micros:
    moment = EPOCH + timedelta(microseconds=us)
    offset = moment.astimezone(info).utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


@lru_cache(maxsize=1024)
def year_start(year: int) -> Micros:
    """Return the instant at which a UTC year begins."""
    return (date(year, 1, 1) - EPOCH_DATE).days * DAY


def _utc_year(us: Micros) -> int:
    if not EARLIEST <= us < LATEST:
        raise ValueError(f"{us} microseconds are outside the years 1 to 9999")
    return (EPOCH_DATE + timedelta(days=us // DAY)).year


# --- the wall clock --------------------------------------------------------------------------------


def local_micros(naive: datetime) -> Micros:
    """Return a naive local time as microseconds since 1970-01-01T00:00 of the same wall clock."""
    return (naive - _NAIVE_EPOCH) // timedelta(microseconds=1)


def naive_local(wall: Micros) -> datetime:
    """Return wall-clock microseconds (see ``local_micros``) as a naive datetime."""
    return _NAIVE_EPOCH + timedelta(microseconds=wall)


def resolve_wall(wall: Micros, tz: str) -> Micros:
    """Return the instant of wall-clock microseconds, as ``resolve_local`` does."""
    # Seen through the wall clock, the stretch [start + before, end + offset) is new: what lies before it has been, and
    # what lies before start + offset was jumped over.
    for stretch in stretches_from(wall - 2 * DAY, tz):
        if wall < stretch.end + stretch.offset:
            return max(stretch.start, wall - stretch.offset)
    raise ValueError(
        f"local time {naive_local(wall).isoformat()} is too near the end of the calendar (years 1 to 9999)"
    )
