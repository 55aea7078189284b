"""The small parts that several stories share: who, when, why late, by which limit.

Rule of the file: pure functions of the scene; each returns text or what text is made of.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from noonmark.core import phrasing
from noonmark.core.former import Former
from noonmark.core.model import SECOND, Attempt, LedgerLine, Micros, Occurrence, Origin, State
from noonmark.core.shown import redacted, redacted_value
from noonmark.core.stored import object_of
from noonmark.explain.awake import asleep_at
from noonmark.explain.explanation import Scene
from noonmark.explain.outages import Outage, away_between
from noonmark.explain.voice import Voice

SOON_AFTER: Micros = 10 * SECOND
"""Who starts so soon after the store's return had waited for it: workers ask anew at once, and take turns."""
GIVEN_LIMIT = 300
"""Characters of one param in a command to copy."""
WAITED = {
    "flag_missing": "waited_facts",
    "dependency_missing": "waited_facts",
    "waiting_for_resume": "waited_resume",
    "weekend_wait": "waited_weekday",
    "slot_wait": "waited_round",
    "lock_wait": "waited_lock",
    "lock_away": "waited_lock",
    "window_not_open": "waited_window",
    "handler_missing": "waited_handler",
    "start_failed": "waited_start",
    "held_rollback": "waited_release",
}
"""Reason of a wait -> what was waited for, as a message."""

_TRACEBACK = "Traceback"
_BETWEEN = ("During handling of the above exception", "The above exception was the direct cause")
_FRAME = re.compile(r'  File ".*", line [0-9]+')


def short_error(error: str | None) -> str:
    """Return the line of an error text that says what kind it is of and how it begins, bounded; a job chose the others."""
    lines = redacted(error or "").split("\n")
    begins = [place for place, line in enumerate(lines) if line.startswith(_TRACEBACK) and _is_headed(lines, place)]
    frames = [place for place, line in enumerate(lines) if _FRAME.match(line)]
    start = begins[-1] + 1 if begins else frames[-1] + 1 if frames else 0
    told = [line.strip() for line in lines[start:] if line.strip() and (not start or not line[0].isspace())]
    text = told[0] if told else next((line.strip() for line in reversed(lines) if line.strip()), "?")
    return text if len(text) <= 160 else text[:157] + "..."


def _is_headed(lines: list[str], place: int) -> bool:
    """A traceback begins the text, or follows what Python writes between an error and the one that it led to."""
    return place == 0 or (place > 1 and lines[place - 2].startswith(_BETWEEN))


def asked_with(row: Occurrence) -> str:
    """Return the params of a row as ``noonmark run`` takes them, a space before each; secrets are left to fill in."""
    params = redacted_value(object_of(row.params))
    words = [f"{name}={_as_given(value)}" for name, value in params.items() if isinstance(name, str)]
    return "".join(f" --param {shlex.quote(word)}" for word in words if word.isprintable() and len(word) <= GIVEN_LIMIT)


def _as_given(value: Any) -> str:
    """Return what is read back as this value: text that would be read as JSON is quoted as JSON."""
    if isinstance(value, str):
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return value
    return json.dumps(value, ensure_ascii=False)


def spaced(scene: Scene, sentence: str) -> str:
    """Return a sentence that another one may follow."""
    return scene.voice.whole(sentence)


def last_attempt(scene: Scene) -> Attempt | None:
    """Return the newest attempt."""
    return scene.story.attempts[-1] if scene.story.attempts else None


def waited_for(ledger: tuple[LedgerLine, ...], voice: Voice) -> str:
    """Say what a row waited for before it started, "" when it did not wait: the last thing that held it back."""
    for line in reversed(ledger):
        if line.event == "park" and line.code in WAITED:
            detail = object_of(line.detail)
            facts = phrasing.fill("{missing:facts}", detail, lang=voice.lang, zone=voice.zone)
            return voice.say(WAITED[line.code], facts=facts)
    return ""


def cause_of_delay(scene: Scene) -> str:
    """Say why a run started late although nothing held it back: nobody awake, no store, or everybody busy."""
    row, voice = scene.row, scene.voice
    span = asleep_at(scene.workers, row.scheduled_for, scene.now)
    away = away_before_start(scene)
    if away is not None and span is None:
        return away_text(scene, away, "cause_away")
    if span is not None and span.end is not None:
        if span.start is None:
            return voice.say("cause_asleep_before", to=voice.moment(span.end))
        return voice.say("cause_asleep", from_=voice.moment(span.start), to=voice.moment(span.end))
    return voice.say("cause_busy")


def away_before_start(scene: Scene) -> Outage | None:
    """Return the time away of the store that made a start late: most of its delay, or right up to the start."""
    row = scene.row
    if row.first_started_at is None:
        return None
    away = away_between(scene.outages, row.scheduled_for, row.first_started_at)
    if away is None:
        return None
    is_most = 2 * away.shares(row.scheduled_for, row.first_started_at) >= row.first_started_at - row.scheduled_for
    return away if is_most or row.first_started_at - away.end <= SOON_AFTER else None


def away_text(scene: Scene, away: Outage, key: str) -> str:
    """Say from when to when the store was away, and who saw it."""
    voice = scene.voice
    return voice.say(key, from_=voice.moment(away.start), to=voice.moment(away.end), worker=away.name)


def limit_text(scene: Scene) -> str:
    """Say which limit ended the waiting."""
    row, voice = scene.row, scene.voice
    detail = scene.detail()
    if row.code == "limit_passed" and row.expires_at is not None:
        allowed = voice.length(row.expires_at - row.scheduled_for)
        return voice.say("limit_delay", at=voice.moment(row.expires_at), allowed=allowed)
    closes = row.not_after if row.not_after is not None else detail.get("closes")
    if isinstance(closes, int):
        return voice.say("limit_window", at=voice.moment(closes))
    return voice.say("limit_other", at=voice.moment(row.ended_at or scene.now))


def actor_of(scene: Scene) -> str:
    """Return the person who acted last, "" when nobody did."""
    for line in reversed(scene.story.ledger):
        if line.actor:
            return line.actor
    return scene.row.actor if scene.row.state is State.CANCELLED and scene.row.origin is Origin.CANCEL else ""


def who_and_why(scene: Scene) -> dict[str, str]:
    """Return who acted, when it ended and the reason given, as template arguments."""
    row, voice = scene.row, scene.voice
    line = next((entry for entry in reversed(scene.story.ledger) if entry.actor), None)
    detail = object_of(line.detail) if line is not None else {}
    reason = str(detail.get("reason") or scene.detail().get("reason") or row.note or "")
    return {
        "actor": actor_of(scene) or voice.say("nobody"),
        "ended": voice.moment(row.ended_at or (line.at if line is not None else scene.now)),
        "reason": spaced(scene, voice.given(reason)) if reason else voice.say("no_reason"),
    }


def former_lines(before: Former | None, voice: Voice) -> tuple[str, ...]:
    """Say that another store lay here before, so that nothing of what it held can be explained."""
    if before is None:
        return ()
    return (voice.say("line_former", store=before.store, at=voice.moment(before.at)),)


def late_lines(scene: Scene) -> tuple[str, ...]:
    """Say that a run came back with a success when it had been given up; whoever decides about the row must know."""
    row, voice = scene.row, scene.voice
    if scene.late is None:
        return ()
    attempt, at = scene.late
    is_open_to_it = row.state in (State.FAILED_MANUAL, State.FAILED_RETRYING)
    mark = voice.say("late_mark" if is_open_to_it else "late_over", run=row.run_id)
    return (voice.say("line_late", number=attempt.number, at=voice.moment(at), mark=mark),)


_LEFT = (("line_left", "left_behind"), ("line_left_running", "left_running"))
"""What is said of which count in the detail of a run; ``left`` there is how many tries there are yet."""


def left_lines(scene: Scene) -> tuple[str, ...]:
    """Say that the process of the last try ended and left others behind: what they were doing was cut off."""
    counted = [(line, scene.detail().get(name)) for line, name in _LEFT]
    return tuple(
        scene.voice.say(line, count=count)
        for line, count in counted
        if isinstance(count, int) and not isinstance(count, bool) and count > 0
    )
