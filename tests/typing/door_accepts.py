"""What a user may write: this file must type-check as it stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import assert_type

from noonmark import (
    CatchUp,
    Context,
    ContextSync,
    Enqueued,
    Retry,
    Scheduler,
    Window,
    cron,
    every,
    manual,
    on_event,
    ready,
    succeeded,
)

sched = Scheduler()


@sched.job(
    cron("30 18 * * mon-sat", tz="Asia/Shanghai"),
    window=Window("18:30", "20:00"),
    depends_on=[ready("corpus.index"), succeeded("rebuild_index"), "plain.flag"],
    each={"channel": ["ops", "sales"]},
    retry=Retry(5, backoff="30s..10m"),
    catch_up=CatchUp(max_delay="90m"),
    timeout=timedelta(minutes=10),
    reason="Ops reads it.",
)
async def daily_digest(ctx: Context, channel: str) -> str:
    return f"{ctx.key} {channel}"


@sched.job(every("5m"), reason="Search must be fresh.")
def rebuild_index(ctx: ContextSync) -> int:
    return ctx.attempt


@sched.job(on_event("order.created", delay="30m"), reason="Free the stock.")
async def close_unpaid(order_id: int, *, note: str = "") -> None: ...


@sched.job(manual(), reason="Asked for.")
def plain(n: int) -> list[int]:
    return [n]


async def use() -> None:
    assert_type(await daily_digest(channel="ops"), str)
    assert_type(rebuild_index(), int)
    assert_type(plain(3), list[int])
    assert_type(close_unpaid.later("30m", key="unpaid:42")(order_id=42), Enqueued)
    assert_type(await close_unpaid.later(timedelta(minutes=30))(42, note="x"), Enqueued)
    assert_type(close_unpaid.later("30m", conn=object())(order_id=42), Enqueued)
    assert_type(close_unpaid.at(datetime(2026, 12, 1, tzinfo=UTC), conn=object())(42), Enqueued)
    sched.emit("order.created", conn=object(), order_id=42)
    assert_type(close_unpaid.at(datetime(2027, 1, 1, tzinfo=UTC))(order_id=42).duplicate, bool)
    assert_type(daily_digest.evaluate().sentence, str)
    assert_type((await sched.emit("order.created", id="1", order_id=42)).duplicate, bool)
    rebuild_index.run_now(reason="now")
