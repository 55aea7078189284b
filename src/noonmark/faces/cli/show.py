"""``noonmark show``: one rule with every default, so that nobody is surprised."""

from __future__ import annotations

import json

import click

from noonmark.core import catchup, codec, keys
from noonmark.core.durations import format_duration
from noonmark.core.model import Job, JobRow
from noonmark.explain import forecast
from noonmark.explain.awake import alive_with
from noonmark.explain.describe import conditions_text, trigger_source, trigger_text, window_text
from noonmark.explain.render import pad, stamp
from noonmark.faces.cli import problems
from noonmark.faces.cli.declared import stored_or_declared
from noonmark.faces.cli.session import Command, Session, session


@click.command(cls=Command)
@click.argument("job")
@click.option(
    "--app", metavar="APP", help="Read the rule from an app or rules file instead of the store.", envvar="NOONMARK_APP"
)
@click.pass_context
def show(ctx: click.Context, job: str, app: str | None) -> int:
    """Show one job's rule with every default."""
    with session(ctx) as here:
        rule, row = stored_or_declared(here, job, app)
        plain = {"v": 1, "job": rule.name, "rule": codec.job_to_plain(rule), "revision": row.revision if row else None}
        if row is not None:
            plain |= {
                "effective_at": stamp(row.effective_at, here.zone(rule.tz)),
                "paused": row.paused,
                "pause_reason": row.pause_reason,
                "digest": row.digest,
            }
        here.emit(plain, lambda: _text(here, rule, row))
    return problems.OK


def _text(here: Session, job: Job, row: JobRow | None) -> str:
    fields = [("when", _when(here, job)), *_promise(here, job), *_running(job)]
    if row is not None:
        fields += _stored(here, job, row)
    wide = max(len(name) for name, _ in fields)
    head = job.name + (f"   rule v{row.revision}" if row is not None else "   (declared, not in the store)")
    reason = [f"“{job.reason}”"] if job.reason else []
    return "\n".join([head, *reason, *(f"  {pad(name, wide)}  {text}" for name, text in fields)])


def _when(here: Session, job: Job) -> str:
    words, source = trigger_text(job.trigger, here.lang), trigger_source(job.trigger, here.lang)
    return words if source in words else f"{words}   ({source})"


def _promise(here: Session, job: Job) -> list[tuple[str, str]]:
    catch_up = job.catch_up
    guard = "any day" if job.guardrails.allow_weekend else "not on Saturdays and Sundays"
    fields = [
        ("window", window_text(job.window, here.lang)),
        ("guard", guard),
        ("needs", conditions_text(job, here.lang)),
        ("key", job.key or f"{keys.default_template(job)}   (default)"),
        (
            "business date",
            "of the scheduled time" if job.business_date == "same" else job.business_date.replace("_", " "),
        ),
        (
            "catch-up",
            f"missed: {catch_up.missed}, {_delay(here, job)}, look again every {format_duration(catch_up.recheck)}",
        ),
        (
            "data",
            "also a late start waits for it" if catch_up.only_if_data_ready else "a late start does not wait for it",
        ),
    ]
    if job.each:
        fields.insert(1, ("each", "; ".join(f"{name}: {', '.join(values)}" for name, values in job.each.items())))
    return fields


def _delay(here: Session, job: Job) -> str:
    if job.catch_up.max_delay is not None:
        return f"at most {format_duration(job.catch_up.max_delay)} late"
    at = here.now if "store" in here.__dict__ or here.settings.now else 0
    coming = forecast.coming(job, at, 1, here.voice(job.tz)) if job.is_series and at else ()
    limit = catchup.default_max_delay(job, coming[0].at) if coming else None
    if limit is not None:
        return f"at most {format_duration(limit)} late (default)"
    return "until the window ends (default)" if job.window is not None else "however late (default)"


def _running(job: Job) -> list[tuple[str, str]]:
    retry = job.retry
    waits = [min(round(retry.base * retry.factor**n), retry.cap) for n in range(retry.max)]
    shown = ", ".join(format_duration(wait) for wait in waits[:5]) + (" …" if len(waits) > 5 else "")
    overlap = job.overlap or f"{'skip' if job.skips_overlap else 'allow'} (default)"
    what = " ".join(job.command) if job.command else (job.run or "bound by name")
    return [
        (
            "retry",
            f"{retry.max} times after {shown} + up to {format_duration(retry.jitter)}, then a person"
            if retry.max
            else "never",
        ),
        ("timeout", format_duration(job.timeout)),
        ("lease", f"{format_duration(job.lease)}, lost: {job.on_lost}, at most {job.max_takeovers} takeovers"),
        ("overlap", overlap),
        ("scope", job.scope),
        ("isolation", job.isolation or ("process group" if job.command else "none (coroutine or thread)")),
        ("runs", what),
        ("params", json.dumps(dict(job.params), ensure_ascii=False) if job.params else "none"),
        ("owner", job.owner or "none"),
        ("declared in", job.source.replace("_", " ")),
    ]


def _stored(here: Session, job: Job, row: JobRow) -> list[tuple[str, str]]:
    voice = here.voice(job.tz)
    awake, able = alive_with(here.store.workers(), job.name, voice.now)
    fields = [
        ("in force", f"since {voice.day_and_clock(row.effective_at)}"),
        ("workers", f"{able} of {awake} awake run it"),
    ]
    if row.paused:
        since = f" since {voice.day_and_clock(row.paused_at)}" if row.paused_at is not None else ""
        fields.append(("paused", f"yes{since}: {row.pause_reason or 'no reason given'}"))
    return fields
