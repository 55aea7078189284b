"""How an explanation is spoken: language, zone, and the shape of times and lengths.

Rule of the file: formatting only.  Local times come from ``core/times.py``; nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from noonmark.core import reasons, times
from noonmark.core.model import DAY, HOUR, MINUTE, SECOND, Micros
from noonmark.core.run_errors_zh import IMPORTED
from noonmark.core.shown import Told
from noonmark.core.stored import object_of
from noonmark.core.values import dataclass
from noonmark.explain.messages import message


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """A language ("en" or "zh") and a zone in which moments are told; ``now`` is the store's time in microseconds."""

    lang: str = "en"
    zone: str = "UTC"
    now: Micros = 0

    def say(self, key: str, /, **args: object) -> Told:
        """Fill in a story template."""
        return message(key, self.lang, **args)

    def reason(self, code: str, detail: Mapping[str, Any] | str) -> str:
        """Tell a reason of the catalogue; an unknown code (of a newer version) is told by its name, no error."""
        arguments = object_of(detail) if isinstance(detail, str) else dict(detail)
        try:
            return reasons.sentence(code, arguments, lang=self.lang, zone=self.zone)
        except (KeyError, ValueError, TypeError, IndexError):
            return f"{code or '?'}." if self.lang == "en" else f"{code or '?'}。"

    def remedy(self, code: str) -> str:
        """Return what to do about a reason, "" where there is nothing to do."""
        try:
            return Told(reasons.remedy(code, self.lang))
        except KeyError:
            return ""

    def whole(self, sentence: str) -> str:
        """Return a sentence with its end, so that another one may follow."""
        end, ends = ("。", ("。", "！", "？")) if self.lang == "zh" else (".", (".", "!", "?"))
        said = sentence.strip()
        whole = said if said.endswith(ends) else said + end
        return Told(whole) if isinstance(sentence, Told) else whole

    def error(self, text: str) -> str:
        """Return the error of a run in this language, where noonmark itself wrote it; what a job raised stays as it is."""
        if self.lang != "zh":
            return text
        from noonmark.core.errors_zh import in_chinese  # only who reads Chinese pays for the patterns

        return in_chinese(text)

    def given(self, text: str) -> str:
        """Return a reason or a note in this language, where an import wrote it; what a person wrote stays as it is."""
        return self.error(text) if text.startswith(IMPORTED) else text

    def moment(self, us: Micros) -> str:
        """Tell an instant: with its day, without the year when it is this year's; the zone is told once, elsewhere."""
        at, today = times.local(times.told(us), self.zone), times.local(self.now, self.zone)
        if at.date() == today.date():
            return self.clock(us)
        if self.lang == "zh":
            return f"{at:%Y-%m-%d} {self.clock(us)}"
        year = "" if at.year == today.year else f" {at.year}"
        return f"{times.weekday_name(times.told(us), self.zone)} {at.day} {at:%b}{year} {self.clock(us)}"

    def span(self, start: Micros, end: Micros) -> tuple[str, str]:
        """Tell both ends of a span: with their days unless both are today, so that neither is read as the other's."""
        today = times.local(self.now, self.zone).date()
        both_today = all(times.local(times.told(us), self.zone).date() == today for us in (start, end))
        tell = self.clock if both_today else self.day_and_clock
        return tell(start), tell(end)

    def day_and_clock(self, us: Micros) -> str:
        """Tell an instant always with its day."""
        at = times.local(times.told(us), self.zone)
        if self.lang == "zh":
            return f"{at:%Y-%m-%d} {self.clock(us)}"
        return f"{times.weekday_name(times.told(us), self.zone)} {at.day} {at:%b %Y} {self.clock(us)}"

    def clock(self, us: Micros) -> str:
        """Tell the time of day."""
        return times.clock_text(times.told(us), self.zone)

    def length(self, us: Micros) -> str:
        """Tell a length, two units at most."""
        us = abs(us)
        zh = self.lang == "zh"
        if us < SECOND // 10 and us:
            return f"{max(1, us // 1000)} {'毫秒' if zh else 'ms'}"
        if us < 10 * SECOND and us % SECOND:
            tenths = f"{us / SECOND:.1f}".removesuffix(".0")
            return f"{tenths} 秒" if zh else f"{tenths} s"
        units = ((DAY, "d", "天"), (HOUR, "h", "小时"), (MINUTE, "min", "分钟"), (SECOND, "s", "秒"))
        for index, (size, en, name) in enumerate(units):
            if us < size and size != SECOND:
                continue
            whole, rest = divmod(us, size)
            text = f"{whole} {name if zh else en}"
            if index + 1 < len(units) and whole < 10:
                small, small_en, small_zh = units[index + 1]
                if rest // small:
                    text += f" {rest // small} {small_zh if zh else small_en}"
            return text
        return "0 秒" if zh else "0 s"

    def short(self, us: Micros) -> str:
        """Tell an instant where columns are dear: no seconds, no date within a week, no clock beyond."""
        at, today = times.local(times.told(us), self.zone), times.local(self.now, self.zone)
        days = abs((at.date() - today.date()).days)
        if days == 0:
            return f"{at:%H:%M}"
        if self.lang == "zh":
            return f"{at:%m-%d %H:%M}" if at.year == today.year else f"{at:%Y-%m-%d}"
        if days < 7:
            return f"{times.weekday_name(times.told(us), self.zone)} {at:%H:%M}"
        return f"{at.day} {at:%b}" if at.year == today.year else f"{at.day} {at:%b %Y}"

    def distance(self, us: Micros, *, short: bool = False) -> str:
        """Tell how far an instant is from now: "in 3 h" or "2 min ago", never earlier than it is.

        Args:
            short: in the largest unit only, where columns are dear.
        """
        if us < self.now:
            return self.say("ago", length=self._cut(self.now - us) if short else self.length(self.now - us))
        ahead = _up(us - self.now, short=short)
        return self.say("in", length=self._cut(ahead) if short else self.length(ahead))

    def _cut(self, us: Micros) -> str:
        return " ".join(self.length(us).split()[:2])


_UNITS = (DAY, HOUR, MINUTE, SECOND)


def _up(us: Micros, *, short: bool) -> Micros:
    """Round up to what ``Voice.length`` tells of such a length: what is cut off there would make it too short."""
    if us < SECOND // 10:
        return -(-us // 1000) * 1000
    if us <= 10 * SECOND - SECOND // 10:
        return -(-us * 10 // SECOND) * SECOND // 10
    for index, size in enumerate(_UNITS):
        if us >= size:
            is_whole = short or us >= 10 * size or size == SECOND
            told = size if is_whole else _UNITS[index + 1]
            rounded = -(-us // told) * told
            return rounded if rounded == us else _up(rounded, short=short)  # it may have become another unit's
    return us
