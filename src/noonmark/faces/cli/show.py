"""``noonmark show``: one rule with every default, so that nobody is surprised.

Rule of the file: every value says where it comes from.  A rule stores values, not who wrote them, so one that equals
the default is called the default.
"""

from __future__ import annotations

import json

import click

from noonmark.core import catchup, codec, keys
from noonmark.core.model import Job, JobRow, Manual, Micros
from noonmark.core.shown import redacted, redacted_value, shown_line
from noonmark.core.told import Told, joined
from noonmark.core.urls import without_secrets
from noonmark.core.values import dataclass
from noonmark.explain import ended, forecast
from noonmark.explain.awake import alive_with
from noonmark.explain.describe import conditions_text, trigger_source, trigger_text, window_text
from noonmark.explain.ended import JobEnd, end_of
from noonmark.explain.find import last_rule, the_job
from noonmark.explain.render import pad, stamp, width
from noonmark.explain.voice import Voice
from noonmark.faces.cli import problems, show_words
from noonmark.faces.cli.declared import own_clock, readable, stored_or_declared
from noonmark.faces.cli.session import Command, Session, session

_DEFAULTS = Job(name="-", trigger=Manual(), reason="-")
VALUE_COLUMNS = 64
"""Values longer than this do not push the column behind them away."""


@dataclass(frozen=True, slots=True)
class Field:
    """One line: the field, its value in words, and where the value comes from (a key of ``SHOWN``)."""

    name: str
    value: str
    origin: str


@click.command(cls=Command)
@click.argument("job")
@click.option(
    "--app", metavar="APP", help="Read the rule from an app or rules file instead of the store.", envvar="NOONMARK_APP"
)
@click.pass_context
def show(ctx: click.Context, job: str, app: str | None) -> int:
    """Show one job's rule with every default, and where each value comes from."""
    with session(ctx) as here:
        end = None if app is not None else end_of(here.store, the_job(here.store, job))
        rule, row = stored_or_declared(here, job, app) if end is None else _as_it_was(here, end)
        if app is not None and not here.settings.now:
            here.now = own_clock()
        plain = {"v": 1, "job": rule.name, "rule": codec.job_to_plain(rule), "revision": row.revision if row else None}
        if row is not None:
            plain |= {
                "effective_at": stamp(row.effective_at, here.zone(rule.tz)),
                "paused": row.paused,
                "pause_reason": row.pause_reason,
                "digest": row.digest,
                "ended": ended.plain(end, stamp(end.at if end else None, here.zone(rule.tz))),
            }
        here.emit(plain, lambda: _text(here, rule, row, end))
    return problems.OK


def _as_it_was(here: Session, end: JobEnd) -> tuple[Job, JobRow]:
    """Return the last rule of a job that was ended, with its row as it is now."""
    row = the_job(here.store, end.job)
    return last_rule(here.store, row) or readable(here, row), row


def _text(here: Session, job: Job, row: JobRow | None, end: JobEnd | None) -> str:
    lang = here.lang
    fields = [*_promise(here, job, row), *_running(job, lang)]
    if row is not None:
        fields += _stored(here, job, row, end)
    names = [show_words.say(field.name, lang) for field in fields]
    wide = max(width(name) for name in names)
    column = min(VALUE_COLUMNS, max(width(field.value) for field in fields))
    head = show_words.say("declared", lang, job=job.name)
    if row is not None:
        head = show_words.say("revision", lang, job=job.name, revision=row.revision)
    reason = [Told(f"“{redacted(job.reason)}”")] if job.reason else []
    lines = [
        Told(
            f"  {pad(name, wide)}  {pad(shown_line(field.value), column)}  {show_words.say(f'from_{field.origin}', lang)}"
        )
        for name, field in zip(names, fields, strict=True)
    ]
    return joined([head, *reason, *lines])


def _origin(value: object, default: object) -> str:
    return "default" if value == default else "rule"


def _promise(here: Session, job: Job, row: JobRow | None) -> list[Field]:
    lang, catch_up, normal = here.lang, job.catch_up, _DEFAULTS.catch_up
    say = show_words.say
    coming = _coming(here, job, row)
    fields = [Field("when", _when(job, lang), "rule")]
    is_over = row is not None and not row.rule
    if coming is not None and not is_over:
        voice = here.voice(job.tz)
        shown = f"{voice.day_and_clock(coming)} {voice.zone}"
        far = here.word("in_parens", moment=shown, distance=voice.distance(coming))
        fields.append(Field("next", far, "rule"))
    elif job.is_series:
        fields.append(Field("next", say("nothing_next", lang), "rule"))
    if job.each:
        subjects = "; ".join(f"{name}: {', '.join(values)}" for name, values in job.each.items())
        fields.append(Field("each", subjects, "rule"))
    weekend = job.guardrails.allow_weekend
    recheck = say("every", lang, length=Voice(lang=lang).length(catch_up.recheck))
    waits = catch_up.only_if_data_ready
    return [
        *fields,
        Field("window", window_text(job.window, lang), _origin(job.window, None)),
        Field("guard", say("guard_any" if weekend else "guard_weekday", lang), _origin(weekend, True)),
        Field("needs", conditions_text(job, lang), _origin(job.depends_on, ())),
        Field("key", Told(job.key or keys.default_template(job)), _origin(job.key, "")),
        Field("business_date", say(f"date_{job.business_date}", lang), _origin(job.business_date, "same")),
        Field("missed", say(f"missed_{catch_up.missed}", lang), _origin(catch_up.missed, normal.missed)),
        _max_delay(job, coming, lang),
        Field("recheck", recheck, _origin(catch_up.recheck, normal.recheck)),
        Field("data", say("data_waits" if waits else "data_ignored", lang), _origin(waits, normal.only_if_data_ready)),
    ]


def _when(job: Job, lang: str) -> str:
    words, source = trigger_text(job.trigger, lang), trigger_source(job.trigger, lang)
    return words if source in words else f"{words}   ({source})"


def _coming(here: Session, job: Job, row: JobRow | None) -> Micros | None:
    if not job.is_series:
        return None
    after = max(here.now, row.effective_at) if row is not None else here.now
    found = forecast.coming(job, after, 1, here.voice(job.tz))
    return found[0].at if found else None


def _max_delay(job: Job, coming: Micros | None, lang: str) -> Field:
    def length(limit: Micros) -> str:
        return show_words.say("delay_length", lang, length=Voice(lang=lang).length(limit))

    if job.catch_up.max_delay is not None:
        return Field("max_delay", length(job.catch_up.max_delay), "rule")
    limit = catchup.default_max_delay(job, coming) if coming is not None else None
    if limit is not None:
        return Field("max_delay", length(limit), "reckoned")
    key = "delay_window" if job.window is not None else "delay_unlimited"
    return Field("max_delay", show_words.say(key, lang), "default")


def _running(job: Job, lang: str) -> list[Field]:
    say, retry = show_words.say, job.retry
    waits = [min(round(retry.base * retry.factor**n), retry.cap) for n in range(retry.max)]
    between = "、" if lang == "zh" else ", "
    shown = between.join(Voice(lang=lang).length(wait) for wait in waits[:5]) + (" …" if len(waits) > 5 else "")
    tries = say("retry_never", lang)
    if retry.max:
        tries = say("retry_times", lang, max=retry.max, waits=shown, jitter=Voice(lang=lang).length(retry.jitter))
    isolation = f"isolation_{job.isolation or ('command' if job.command else 'none')}"
    runs = " ".join(redacted_value(job.command)) if job.command else (job.run or say("by_name", lang))
    params = json.dumps(redacted_value(job.params), ensure_ascii=False) if job.params else say("none", lang)
    return [
        Field("retry", tries, _origin(retry, _DEFAULTS.retry)),
        Field("timeout", Voice(lang=lang).length(job.timeout), _origin(job.timeout, _DEFAULTS.timeout)),
        Field("lease", Voice(lang=lang).length(job.lease), _origin(job.lease, _DEFAULTS.lease)),
        Field("on_lost", say(f"lost_{job.on_lost}", lang, max=job.max_takeovers), _on_lost_origin(job)),
        Field("on_rollback", say(f"rollback_{job.on_rollback}", lang), _origin(job.on_rollback, "hold")),
        Field("overlap", say(f"overlap_{job.on_overlap}", lang), _origin(job.overlap, None)),
        *([Field("lock", _lock(job, lang), "rule")] if job.lock is not None else []),
        Field("scope", say(f"scope_{job.scope}", lang), _origin(job.scope, _DEFAULTS.scope)),
        Field("isolation", say(isolation, lang), _origin(job.isolation, "")),
        Field("runs", runs, _origin((job.command, job.run), ((), ""))),
        Field("params", params, _origin(dict(job.params), {})),
        Field("owner", job.owner or say("none", lang), _origin(job.owner, "")),
        Field("source", say(f"source_{job.source}", lang), "rule"),
    ]


def _lock(job: Job, lang: str) -> str:
    lock = job.lock
    assert lock is not None
    busy = show_words.say("lock_wait" if job.waits_for_lock else "lock_skip", lang)
    ttl = Voice(lang=lang).length(lock.ttl)
    at = without_secrets(lock.at) if lock.at else lock.kind
    return show_words.say("lock_shown" if at else "lock_named", lang, name=lock.name, at=at, ttl=ttl, busy=busy)


def _on_lost_origin(job: Job) -> str:
    return _origin((job.on_lost, job.max_takeovers), (_DEFAULTS.on_lost, _DEFAULTS.max_takeovers))


def _stored(here: Session, job: Job, row: JobRow, end: JobEnd | None) -> list[Field]:
    voice, lang, say = here.voice(job.tz), here.lang, show_words.say
    awake, able = alive_with(here.workers, job.name, voice.now)
    since = say("since", lang, at=f"{voice.day_and_clock(row.effective_at)} {voice.zone}")
    if end is not None:
        told = end.told(voice) | {"at": f"{voice.day_and_clock(end.at)} {voice.zone}"}
        since = say("no_more_since", lang, **told)
    fields = [
        Field("in_force", since, "store"),
        Field("workers", say("able", lang, able=able, awake=awake), "store"),
    ]
    if row.paused:
        reason = row.pause_reason or voice.say("no_reason")
        paused = say("paused_only", lang, reason=reason)
        if row.paused_at is not None:
            paused = say("paused_since", lang, at=voice.day_and_clock(row.paused_at), reason=reason)
        fields.append(Field("paused", paused, "store"))
    return fields
