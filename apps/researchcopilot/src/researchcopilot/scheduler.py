"""The map of ResearchCopilot's jobs: what is due when, who may run it, and what a failure costs.

| job                 | due                         | alone?                       | a failure costs                   |
|---------------------|-----------------------------|------------------------------|-----------------------------------|
| answer_run          | when somebody asks          | per run, by its key          | one answer; retried               |
| digest_run          | 5 min after a run completed | per run, by its key          | one digest; retried               |
| rebuild_index       | every 5 min                 | yes: heavy, once is enough   | search is 5 min older; next round |
| daily_report        | 09:00 Shanghai, yesterday   | yes: two would confuse       | the report; looked at till 12:00  |
| expire_memories     | 03:30 Shanghai              | yes: spares a row quarrel    | nothing; tomorrow does it, too    |
| aggregate_metrics   | every minute, each worker   | no: each writes its own part | nothing; the next one makes up    |
| close_metrics       | 00:05 Shanghai, yesterday   | yes: one flag, set once      | the report waits for it           |
| patrol_dead_letters | hourly                      | yes: one list, one reader    | the list comes an hour later      |

Rule of the file: when and why, and nothing else. What the jobs do is in ``work.py``; there everything may be done
twice, so that being alone is a saving here and never what correctness rests on.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from noonmark import (
    CatchUp,
    ContextSync,
    DoNotRetry,
    Retry,
    RetryLater,
    Scheduler,
    StoreError,
    Window,
    at,
    cron,
    every,
    manual,
    on_event,
    ready,
    succeeded,
)
from researchcopilot import model
from researchcopilot.clock import now
from researchcopilot.corpus import CorpusError, open_corpus
from researchcopilot.data import Data
from researchcopilot.desk import Desk, Order, UnavailableError
from researchcopilot.index import IndexUnusableError
from researchcopilot.locations import DEFAULT_DATA, default_url
from researchcopilot.pages import PATROL_LIMIT
from researchcopilot.work import Copilot, Live

TZ = "Asia/Shanghai"
"""The business's zone: its dates, its 09:00."""
RETRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How fast the jobs go: ``normal`` for work, ``demo`` for a minute of looking on."""

    rebuild: str = "5m"
    metrics: str = "1m"
    digest_delay: str = "5m"
    lease: str = "30s"
    recheck: str = "5m"
    pause: float = 0.0
    demo_start: datetime | None = None


def build(
    url: str,
    data: str | Path,
    corpus: str | Path | None = None,
    profile: str = "normal",
    *,
    lang: str = "en",
    demo_start: datetime | None = None,
    clock: Any = None,
) -> Scheduler:
    """Return a scheduler with all jobs declared.

    Args:
        url: noonmark's store.
        data: the folder in which ResearchCopilot keeps its own things; made if missing.
        corpus: the folder of documents; None or "" means noonmark's documentation.
        profile: ``normal`` or ``demo``.
        lang: language of reports, ``en`` or ``zh``.
        demo_start: the moment the demo's report and closing are counted from; all its workers must be told the same.
        clock: replaces the machine's clocks, for tests (``noonmark.testing``).

    Raises:
        CorpusError: the corpus folder is missing.
        ValueError: there is no such profile.
    """
    pace = _profile(profile, demo_start)
    copilot = Copilot(
        Data(Path(data)),
        open_corpus(corpus),
        model=model.from_environment(os.environ),
        worker=uuid.uuid4().hex,
        lang=lang,
        pause=pace.pause,
    )
    sched = Scheduler(
        url, rules=False, clock=clock
    )  # a noonmark.yaml that happens to lie here is another application's
    _declare_runs(sched, copilot, pace)
    _declare_round(sched, copilot, pace)
    _declare_metrics(sched, copilot, pace)
    return sched


def desk(sched: Scheduler, data: Data) -> Desk:
    """Return the desk that hands questions to this scheduler's workers."""

    def enqueue(order: Order) -> None:
        try:
            sched.jobs["answer_run"].later("0s", key=f"answer:{order.run_id}")(
                run_id=order.run_id, question=order.question, asked_at=order.asked_at.isoformat(), deep=order.deep
            )
        except StoreError as trouble:
            raise UnavailableError(
                f"the scheduler's store did not take the run, so nothing was stored: {trouble}"
            ) from trouble

    return Desk(data, enqueue)


# --- runs --------------------------------------------------------------------------------------------


def _declare_runs(sched: Scheduler, copilot: Copilot, pace: Profile) -> None:
    @sched.job(
        manual(tz=TZ),
        key="answer:{params.run_id}",  # one run, one answer, however often the request is sent
        retry=Retry(RETRIES),
        lease=pace.lease,
        timeout="10m",
        reason="A question was asked; the request only delivers, a worker does the work.",
    )
    def answer_run(ctx: ContextSync, run_id: str, question: str, asked_at: str, deep: bool = False) -> dict[str, Any]:
        with _model_errors(copilot, run_id, last=ctx.attempt > RETRIES):
            answer = copilot.answer(ctx, run_id, question, datetime.fromisoformat(asked_at), deep=deep)
        # Behind the answer, so that no digest is ever due for a run without one; emitted twice, it counts once.
        sched.emit("run.completed", id=run_id, run_id=run_id)
        return {"method": answer.method, "sources": len(answer.sources)}

    @sched.job(
        on_event("run.completed", delay=pace.digest_delay, tz=TZ),
        key="digest:{run_id}",  # the event may be delivered ten times, the digest is written once
        lease=pace.lease,
        reason="Readers want the gist a little later, when follow-up questions have settled.",
    )
    def digest_run(run_id: str) -> int:
        return len(copilot.digest(run_id))


# --- the daily round -----------------------------------------------------------------------------------


def _declare_round(sched: Scheduler, copilot: Copilot, pace: Profile) -> None:
    @sched.job(
        every(pace.rebuild, tz=TZ),
        key="index:{scheduled_for}",
        business_date="previous_day",  # a success for a date means: the index holds everything of that date
        overlap="skip",  # alone: three workers would only do the same heavy work three times
        lease=pace.lease,
        reason="Search must be at most five minutes behind the documents.",
    )
    def rebuild_index() -> dict[str, Any]:
        built = copilot.rebuild_index()
        return {"documents": built.documents, "passages": built.passages, "left_out": len(built.problems)}

    start = pace.demo_start

    @sched.job(
        at(_iso(start, 15), tz=TZ) if start else cron("0 9 * * *", tz=TZ),
        business_date="previous_day",
        params={"channel": "ops"},
        key="report:{business_date}:{channel}",  # one report a date and channel, by hand or by itself
        depends_on=[
            succeeded("rebuild_index", reason="The report says what the index holds."),
            ready("metrics.ready:{business_date}", reason="Without every worker's part the figures would be too low."),
        ],
        window=Window(length="30s") if start else Window("09:00", "12:00"),
        catch_up=CatchUp(recheck=pace.recheck),
        retry=Retry(4),
        lease=pace.lease,
        reason="Ops reads it in the morning; after noon it is no use, and somebody should ask why it is missing.",
    )
    def daily_report(ctx: ContextSync, channel: str) -> int:
        return len(copilot.report(ctx.business_date, channel))

    @sched.job(
        cron("30 3 * * *", tz=TZ),
        overlap="skip",  # harmless twice, but two replicas deleting the same rows wait for each other
        lease=pace.lease,
        reason="Memories are kept for thirty days, and then no longer; at night nobody waits for the database.",
    )
    def expire_memories() -> int:
        return copilot.expire_memories()

    @sched.job(
        cron("0 * * * *", tz=TZ),
        overlap="skip",
        lease=pace.lease,
        reason="What failed for good must not lie unseen for longer than an hour.",
    )
    def patrol_dead_letters(ctx: ContextSync) -> int:
        dead = sched.occurrences(states=["FAILED_MANUAL"], limit=PATROL_LIMIT + 1)
        copilot.patrol([(each.job, each.key, each.sentence or each.error or "") for each in dead], ctx.key)
        return len(dead)


# --- metrics -------------------------------------------------------------------------------------------


def _declare_metrics(sched: Scheduler, copilot: Copilot, pace: Profile) -> None:
    @sched.job(
        every(pace.metrics, tz=TZ),
        key="metrics:{worker}:{scheduled_for}",
        scope="each_worker",  # not alone: each worker writes its own part, a lock would only make them queue
        lease=pace.lease,
        reason="The figures of the day are the sum of what each worker counted about itself.",
    )
    def aggregate_metrics(ctx: ContextSync) -> int:
        return copilot.write_own_part(ctx.subject, ctx.scheduled_for)

    start = pace.demo_start

    @sched.job(
        at(_iso(start, 21), tz=TZ) if start else cron("5 0 * * *", tz=TZ),
        business_date="previous_day",
        key="metrics-closed:{business_date}",
        retry=Retry(10),
        lease=pace.lease,
        reason="The report may be written when every live worker has written its part of the date.",
    )
    def close_metrics(ctx: ContextSync) -> str:
        workers = [each for each in sched.workers(alive=True) if "aggregate_metrics" in each.jobs]
        live = [Live(name=each.id, started_at=each.started_at) for each in workers]
        missing = copilot.unfinished_parts(ctx.business_date, live)
        if missing:
            raise RetryLater(f"no part of {ctx.business_date} yet from {', '.join(missing)}", after=pace.metrics)
        ctx.signal(f"metrics.ready:{ctx.business_date}")
        return ctx.business_date


# --- for all of them -------------------------------------------------------------------------------------


@contextmanager
def _model_errors(copilot: Copilot, run_id: str, *, last: bool) -> Iterator[None]:
    """Say in noonmark's words what an error means for the next attempt, and tell the asker when there is none."""
    try:
        yield
    except model.ModelBusyError as trouble:
        if last:
            copilot.give_up(run_id, str(trouble))
        raise RetryLater(str(trouble), after=trouble.after) from trouble
    except model.ModelRefusedError as trouble:
        copilot.give_up(run_id, str(trouble))
        raise DoNotRetry(str(trouble)) from trouble
    except (CorpusError, IndexUnusableError) as trouble:
        if last:
            copilot.give_up(run_id, str(trouble))
        raise


def _profile(name: str, start: datetime | None) -> Profile:
    if name == "normal":
        return Profile()
    if name == "demo":
        return Profile(
            rebuild="5s", metrics="10s", digest_delay="4s", lease="10s", recheck="5s", pause=3.0,
            demo_start=start or now(),
        )  # fmt: skip
    raise ValueError(f"there is no profile {name!r}; there are normal and demo")


def _iso(start: datetime, seconds: int) -> str:
    return (start + timedelta(seconds=seconds)).isoformat()


def __getattr__(name: str) -> Scheduler:
    """Make ``sched`` from the environment when it is asked for: ``noonmark worker researchcopilot.scheduler:sched``."""
    if name != "sched":
        raise AttributeError(name)
    start = os.environ.get("RESEARCHCOPILOT_DEMO_START")
    data = os.environ.get("RESEARCHCOPILOT_DATA") or DEFAULT_DATA
    try:
        made = build(
            os.environ.get("NOONMARK_URL") or default_url(data),
            data,
            os.environ.get("RESEARCHCOPILOT_CORPUS"),
            profile="demo" if start else "normal",
            lang=os.environ.get("RESEARCHCOPILOT_LANG") or "en",
            demo_start=datetime.fromisoformat(start) if start else None,
        )
    except (CorpusError, model.ModelRefusedError, OSError) as trouble:  # mistakes of whoever set the environment
        raise SystemExit(f"researchcopilot: {trouble}") from None
    globals()["sched"] = made
    return made
