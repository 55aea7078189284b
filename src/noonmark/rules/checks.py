"""What a rule must mean, whoever wrote it: one list of checks for files and decorators.

Rule of the file: a check looks at the finished ``Job`` and tells ``say`` what is wrong with which canonical field;
nothing here knows YAML, Python source or places.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from noonmark.core import cron, durations, keys, series, times
from noonmark.core.conditions import upstream_job
from noonmark.core.model import PAYLOAD_LIMIT, SECOND, At, Cron, Every, FlagSet, Job, Succeeded, Window
from noonmark.core.urls import lock_kind
from noonmark.rules.parts import Say
from noonmark.rules.tree import nearest

SUBJECT_LIMIT = 10_000
"""Most subjects of one job: each of them is a row per moment."""
NAME_LIMIT = 128

_NAME = re.compile(r"\w[\w.\-]*")
_RUN = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?", re.ASCII)


def check_name(name: str, say: Say) -> None:
    """A job's name is part of keys, facts and commands, so it may hold none of their signs."""
    if len(name) > NAME_LIMIT or not _NAME.fullmatch(name):
        fitting = re.sub(r"[^\w.]+", "-", name[:NAME_LIMIT]).strip("-.") or "daily-digest"
        say((), "bad_job_name", value=name[:NAME_LIMIT], suggestion=fitting)


def check_job(job: Job, say: Say) -> None:
    """Tell ``say`` everything that is wrong with the job by itself."""
    for check in CHECKS:
        check(job, say)


def _reason(job: Job, say: Say) -> None:
    if not job.reason.strip() and job.source != "task_rules":  # that dialect knows no reasons: a finding, no error
        say(("reason",), "reason_missing")


def _zone(job: Job, say: Say) -> None:
    trigger = job.trigger
    if isinstance(trigger, Cron) and not trigger.tz:
        say(("schedule", "cron"), "cron_without_tz")
        return
    try:
        times.zone(job.tz)
    except ValueError as error:
        say(("schedule", "tz"), "bad_zone", value=job.tz, error=str(error))


def _trigger(job: Job, say: Say) -> None:
    trigger = job.trigger
    if isinstance(trigger, Cron):
        try:
            cron.parse_cron(trigger.expression, trigger.tz if _zone_is_known(trigger.tz) else "UTC")
        except ValueError as error:
            say(("schedule", "cron"), "bad_cron", value=trigger.expression[:100], error=str(error))
    elif isinstance(trigger, At) and _zone_is_known(trigger.tz):
        for index, text in enumerate(trigger.moments):
            try:
                times.parse_instant(text, trigger.tz)
            except (ValueError, OverflowError) as error:
                say(("schedule", "at", index), "bad_moment", value=text, error=str(error))


def _zone_is_known(tz: str) -> bool:
    try:
        times.zone(tz)
    except ValueError:
        return False
    return True


def _window(job: Job, say: Say) -> None:
    window = job.window
    if window is None:
        return
    found: list[str] = []

    def tell(name: str, code: str, **detail: object) -> None:
        found.append(code)
        say(("window", name) if name else ("window",), code, **detail)

    for name, text in (("start", window.start), ("end", window.end)):
        if text is not None and not _TIME.fullmatch(text) and not (name == "end" and text in ("24:00", "24:00:00")):
            tell(name, "bad_time", value=text[:40])
    _window_halves(window, tell)
    if not found and window.start is not None and window.end is not None:
        start, end = _padded(window.start), _padded(window.end)
        if start == end:
            tell("end", "window_empty", start=window.start)
        elif end < start and not window.crosses_midnight:
            tell("end", "window_end_before_start", start=window.start, end=window.end)
        elif end > start and window.crosses_midnight:
            tell("crosses_midnight", "window_never_crosses", start=window.start, end=window.end)
    if not found:
        for problem in times.check_window(window):
            tell("", "bad_window", error=problem)


def _window_halves(window: Window, tell: Callable[..., None]) -> None:
    clocks = window.start is not None, window.end is not None
    if window.length is not None and any(clocks):
        tell("length", "window_both")
    elif window.length is None and not any(clocks):
        tell("", "window_nothing")
    elif clocks == (True, False):
        tell("start", "window_half", has="start", lacks="end")
    elif clocks == (False, True):
        tell("end", "window_half", has="end", lacks="start")
    if window.length is not None and window.length < SECOND:
        tell(
            "length",
            "too_short",
            value=durations.format_duration(window.length),
            error="nothing could start",
            least="1s",
        )


def _padded(text: str) -> str:
    return text if len(text) == 8 else f"{text}:00"


def _key(job: Job, say: Say) -> None:
    template = job.key
    if not template:
        return
    extra = ""
    many = isinstance(job.trigger, (Cron, Every)) or (isinstance(job.trigger, At) and len(job.trigger.moments) > 1)
    if many and job.source != "task_rules" and _is_timeless(template):
        say(("key",), "key_without_time", value=template)
        extra = ":{scheduled_for}"  # said once, in our words
    for problem in _template_problems(template, extra, job):
        say(("key",), "bad_key", error=problem)


def _is_timeless(template: str) -> bool:
    try:
        return not keys.has_time_part(template)
    except ValueError:
        return False  # unreadable, which is said elsewhere


def _template_problems(template: str, extra: str, job: Job) -> list[str]:
    """Ask for a template's problems as if ``extra`` stood behind it, so that what ``extra`` provides is not missed."""
    whole = f"{template}{extra}"
    return [problem.replace(whole, template) for problem in keys.check_template(whole, job)]


def _conditions(job: Job, say: Say) -> None:
    for index, condition in enumerate(job.depends_on):
        if isinstance(condition, FlagSet):
            template, name = condition.flag, "flag"
        else:
            template, name = condition.date, "date"
            if condition.job == job.name:
                say(("depends_on", index), "success_of_itself")
            if job.scope == "each_worker":
                say(("depends_on", index), "each_worker_waits")
        for problem in keys.check_names(template, job):
            say(("depends_on", index, name), "bad_key", error=problem)


def _lock(job: Job, say: Say) -> None:
    lock = job.lock
    if lock is None:
        return
    if not lock.name.strip():
        say(("lock", "name"), "bad_lock", error="it has no name", error_zh="没有写 name")
        return
    for problem in keys.check_names(lock.name, job):
        say(("lock", "name"), "bad_key", error=problem)
    scheme, separator, _ = lock.at.partition("://")
    if lock.at and not separator and not lock.at.startswith("env:"):
        say(("lock", "at"), "bad_lock", error=f'at "{lock.at}" is no URL', error_zh=f"at “{lock.at}”不是 URL")
    elif separator and lock.kind and lock_kind(scheme) != lock.kind:
        kind = lock_kind(scheme) or scheme
        said, said_zh = f"kind is {lock.kind}, but at names {kind}", f"kind 为 {lock.kind}，而 at 指向 {kind}"
        say(("lock", "at"), "bad_lock", error=said, error_zh=said_zh)
    if lock.ttl < SECOND:
        shown = durations.format_duration(lock.ttl)
        say(("lock", "ttl"), "too_short", value=shown, error="it is renewed three times a ttl", least="1s")


def _scope(job: Job, say: Say) -> None:
    if job.scope == "each_worker" and not isinstance(job.trigger, (Cron, Every)):
        say(("scope",), "each_worker_trigger")


def _what_runs(job: Job, say: Say) -> None:
    if job.run and job.command:
        say(("command",), "run_and_command")
    if job.run and not _RUN.fullmatch(job.run):
        say(("run",), "bad_run", value=job.run[:100])
    if any(not part or "\0" in part for part in job.command[:1]):
        say(("command",), "bad_command")


def _values(job: Job, say: Say) -> None:
    count = 1
    for name, values in job.each.items():
        count *= len(values)
        if not name.isidentifier():
            say(("each", name), "bad_each", error=f'"{name}" is no parameter name')
        if not values:
            say(("each", name), "bad_each", error=f'"{name}" has no values')
        elif len(set(values)) != len(values):
            say(("each", name), "bad_each", error=f'"{name}" has a value twice')
        if name in job.params:
            say(("params", name), "said_twice", other=f"each.{name}")
    if count > SUBJECT_LIMIT:
        say(("each",), "too_many_subjects", count=count, limit=SUBJECT_LIMIT)
    try:
        size = len(json.dumps(dict(job.params), ensure_ascii=False, allow_nan=False).encode())
    except (TypeError, ValueError) as error:
        say(("params",), "bad_params", error=str(error))
        return
    if size > PAYLOAD_LIMIT:
        say(("params",), "bad_params", error=f"{size} bytes, more than {PAYLOAD_LIMIT}")


def _lengths(job: Job, say: Say) -> None:
    if job.timeout < SECOND:
        say(
            ("timeout",),
            "too_short",
            value=durations.format_duration(job.timeout),
            error="every attempt would be stopped",
            least="1s",
        )
    if job.lease < SECOND:
        say(
            ("lease",),
            "too_short",
            value=durations.format_duration(job.lease),
            error="it is renewed three times a lease",
            least="1s",
        )


CHECKS: tuple[Callable[[Job, Say], None], ...] = (
    _reason,
    _zone,
    _trigger,
    _window,
    _key,
    _conditions,
    _lock,
    _scope,
    _what_runs,
    _values,
    _lengths,
)


def check_together(jobs: Mapping[str, Job], known: Iterable[str], say: Callable[..., None]) -> None:
    """Check what jobs say about each other.

    Args:
        jobs: the jobs of one load, by name.
        known: names of jobs declared elsewhere.
        say: called with the job's name, then as a ``Say``.
    """
    names = {*jobs, *known}
    for job in jobs.values():
        for index, condition in enumerate(job.depends_on):
            if not isinstance(condition, Succeeded):
                continue
            name, subject = upstream_job(condition)
            path, other = ("depends_on", index), jobs.get(name)
            if name not in names:
                close = nearest(name, names)
                hint, hint_zh = (
                    (f'did you mean "{close}"?', f"是否想写“{close}”？")
                    if close
                    else ("correct the name", "请改正名称")
                )
                say(job.name, path, "success_unknown_job", value=name, hint=hint, hint_zh=hint_zh)
            elif other is not None and other.scope == "each_worker":
                say(job.name, path, "success_each_worker", value=name)
            elif other is not None:
                _check_subject(job, other, subject, partial(say, job.name, path))
    for cycle in _cycles(jobs):
        say(cycle[0], ("depends_on",), "dependency_cycle", names=" -> ".join([*cycle, cycle[0]]))


def _check_subject(job: Job, other: Job, subject: str, say: Callable[..., None]) -> None:
    """A success is that of one subject: one that no run can have would be waited for without end."""
    if not other.each:
        if subject:
            say("success_no_subject", value=other.name)
        return
    known = [text for text, _ in series.subjects(other)]
    if subject in known or "{" in subject:
        return
    same = "{subject}" if dict(other.each) == dict(job.each) else known[0]
    say("success_which_subject", value=other.name, each=", ".join(other.each), like=f"{other.name}[{same}]")


def _cycles(jobs: Mapping[str, Job]) -> list[list[str]]:
    """Return circles of jobs that wait for each other's success on the same date."""
    same_date = Succeeded(job="").date
    waits = {
        name: [
            c.job
            for c in job.depends_on
            if isinstance(c, Succeeded) and c.date == same_date and c.job in jobs and c.job != name
        ]
        for name, job in jobs.items()
    }
    done: set[str] = set()
    cycles: list[list[str]] = []
    for first in waits:
        path: list[str] = []
        stack: list[tuple[str, int]] = [(first, 0)]  # by hand: a chain may be longer than Python recurses
        while stack:
            name, index = stack.pop()
            if index == 0:
                if name in done:
                    continue
                path.append(name)
            if index < len(waits[name]):
                stack.append((name, index + 1))
                following = waits[name][index]
                if following in path:
                    cycles.append(path[path.index(following) :])
                else:
                    stack.append((following, 0))
            else:
                done.add(name)
                path.pop()
    return cycles


def needs_handler(job: Job) -> bool:
    """Return True when only a decorated function of the same name can run the job."""
    return not job.run and not job.command
