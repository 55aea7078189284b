"""The small parts that several stories share: who, when, why late, how lost, by which limit.

Rule of the file: pure functions of the scene; each returns text or what text is made of.
"""

from __future__ import annotations

import json

from noonmark.core import phrasing
from noonmark.core.model import Attempt, LedgerLine, Origin, State
from noonmark.explain.awake import asleep_at
from noonmark.explain.explanation import Scene
from noonmark.explain.voice import Voice

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
}
"""Reason of a wait -> what was waited for, as a message."""


def short_error(error: str | None) -> str:
    """Return the last line of an error text, bounded: the line that names it."""
    lines = [line.strip() for line in (error or "").splitlines() if line.strip()]
    text = lines[-1] if lines else "?"
    return text if len(text) <= 160 else text[:157] + "..."


def spaced(scene: Scene, sentence: str) -> str:
    """Return a sentence that another one may follow."""
    sentence = sentence.strip()
    if scene.voice.lang == "zh":
        return sentence if sentence.endswith(("。", "！", "？")) else sentence + "。"
    return sentence if sentence.endswith((".", "!", "?")) else sentence + "."


def last_attempt(scene: Scene) -> Attempt | None:
    """Return the newest attempt."""
    return scene.story.attempts[-1] if scene.story.attempts else None


def waited_for(ledger: tuple[LedgerLine, ...], voice: Voice) -> str:
    """Say what a row waited for before it started, "" when it did not wait: the last thing that held it back."""
    for line in reversed(ledger):
        if line.event == "park" and line.code in WAITED:
            detail = json.loads(line.detail or "{}")
            facts = phrasing.fill("{missing:facts}", detail, lang=voice.lang, zone=voice.zone)
            return voice.say(WAITED[line.code], facts=facts)
    return ""


def cause_of_delay(scene: Scene) -> str:
    """Say why a run started late although nothing held it back: nobody was awake, or everybody was busy."""
    row, voice = scene.row, scene.voice
    span = asleep_at(scene.workers, row.scheduled_for, scene.now)
    if span is not None and span.end is not None:
        if span.start is None:
            return voice.say("cause_asleep_before", to=voice.moment(span.end))
        return voice.say("cause_asleep", from_=voice.moment(span.start), to=voice.moment(span.end))
    return voice.say("cause_busy")


def how_lost(scene: Scene, lost: Attempt) -> str:
    """Say how a holder was lost: dead, ended, or paused and still there."""
    voice, worker = scene.voice, scene.worker(lost.worker)
    ended = lost.ended_at or scene.now
    if worker is None:
        return voice.say("worker_unknown", worker=scene.name_of(lost.worker), ended=voice.moment(ended))
    if worker.ended_at is not None and worker.ended_at <= ended:
        return voice.say("worker_ended", worker=worker.name, ended=voice.moment(worker.ended_at))
    seen = voice.moment(worker.seen_at)
    if worker.seen_at > ended or worker.is_awake(scene.now) or worker.ended_at is not None:
        return voice.say("worker_paused", worker=worker.name, seen=seen)
    return voice.say("worker_died", worker=worker.name, pid=worker.pid, seen=seen)


def fence_lines(scene: Scene) -> tuple[str, ...]:
    """Say for every lost attempt from when on its writes are refused."""
    lines = []
    for lost in scene.lost_attempts:
        newer = next((a for a in scene.story.attempts if a.fence > lost.fence), None)
        if newer is not None:
            lines.append(
                scene.voice.say(
                    "line_fence",
                    worker=scene.name_of(lost.worker),
                    at=scene.voice.moment(lost.ended_at or newer.started_at),
                    old=scene.fence(lost.fence),
                    new=scene.fence(newer.fence),
                )
            )
    return tuple(lines)


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
    detail = json.loads(line.detail or "{}") if line is not None else {}
    reason = str(detail.get("reason") or scene.detail().get("reason") or row.note or "")
    return {
        "actor": actor_of(scene) or voice.say("nobody"),
        "ended": voice.moment(row.ended_at or (line.at if line is not None else scene.now)),
        "reason": spaced(scene, reason) if reason else voice.say("no_reason"),
    }
