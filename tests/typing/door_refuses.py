"""What a user may not write: every marked line must be reported, or the unused mark is an error."""

from __future__ import annotations

from noonmark import Context, Retry, Scheduler, Window, cron, every, manual

sched = Scheduler()

cron("0 9 * * *")  # type: ignore[call-arg]
every(5)  # type: ignore[arg-type]
Window(18, 20)  # type: ignore[arg-type]
Retry("4")  # type: ignore[arg-type]
sched.job(every("5m"))  # type: ignore[call-arg]
sched.job("0 9 * * *", reason="x")  # type: ignore[arg-type]
sched.job(every("5m"), reason="x", timeot="5m")  # type: ignore[call-arg]
sched.job(every("5m"), reason="x", overlap="never")  # type: ignore[arg-type]
sched.pause("a")  # type: ignore[call-arg]
sched.cancel(job="a")  # type: ignore[call-arg]


@sched.job(manual(), reason="x")
async def ask(ctx: Context, order_id: int) -> None: ...


ask.later(30)  # type: ignore[arg-type]
ask.later("30m")(order_id="42")  # type: ignore[arg-type]
ask.later("30m")()  # type: ignore[call-arg]
ask.later("30m")(order_id=42, other=1)  # type: ignore[call-arg]
ask.at(1764580000)  # type: ignore[arg-type]
ask.run_now()  # type: ignore[call-arg]
ask(order_id="42")  # type: ignore[arg-type, unused-coroutine]
