"""The catalogue of reasons: a code, its sentence in English and Chinese, what to do about it, how loud it is.

Promise: codes are permanent, and both languages say the same.  Rule of the file: only text.  ``{name:kind}`` is filled
from the detail by ``core/phrasing.py``; a part in [brackets] is left out when a value in it is not known.
"""

from __future__ import annotations

from noonmark.core.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason.  ``level``: 0 no alert, 1 notice, 2 raised, 3 urgent."""

    code: str
    en: str
    zh: str
    remedy_en: str
    remedy_zh: str
    level: int = 0


def reason(code: str, en: str, zh: str, remedy: tuple[str, str], *, level: int = 0) -> Reason:
    """Make a reason; the remedy is told in English and in Chinese."""
    return Reason(code=code, en=en, zh=zh, remedy_en=remedy[0], remedy_zh=remedy[1], level=level)


AGAIN = (
    "To run it again on purpose: noonmark run JOB --again --reason WHY",
    "若确需再跑一次：noonmark run JOB --again --reason 原因",
)
ALL_THE_SAME = (
    "To run it all the same: noonmark run JOB --reason WHY",
    "若仍要运行：noonmark run JOB --reason 原因",
)
LATE = (
    "To run it all the same, while today's window is open: noonmark retry RUN; to allow more: catch_up.max_delay",
    "若仍要运行，在今天的窗口内执行 noonmark retry RUN；或放宽 catch_up.max_delay",
)
CLOSED = (
    (
        "To run it all the same, while a window of its rule is open: noonmark retry RUN; outside of it: "
        "noonmark run JOB --again --override window --reason WHY; to allow more: window, in its rule"
    ),
    (
        "若仍要运行，在其规则的窗口开放时执行 noonmark retry RUN；在窗口之外：noonmark run JOB --again --override window "
        "--reason 原因；或放宽规则中的 window"
    ),
)
WAIT = (
    "It goes on by itself; noonmark why JOB shows its last look",
    "会自动继续；noonmark why JOB 可看最近一次检查",
)
LOST = (
    "See why the worker went away (its log, memory, host): noonmark leases",
    "查明 worker 为何消失（日志、内存、主机）：noonmark leases",
)

WAITING: tuple[Reason, ...] = (
    reason(
        "ready",
        "Every check passed[, {late:late} late].",
        "所有检查均通过[，晚了 {late:late}]。",
        WAIT,
    ),
    reason(
        "started",
        "It was started.",
        "已开始运行。",
        WAIT,
    ),
    reason(
        "job_paused",
        "The job was paused when it was due[ (since {since:moment})][: {reason}].",
        "到期时任务处于暂停状态[（自 {since:moment} 起）][：{reason}]。",
        (
            "noonmark resume JOB lets coming moments run; for this one: noonmark run JOB --reason WHY",
            "noonmark resume JOB 恢复今后的运行；补这一次：noonmark run JOB --reason 原因",
        ),
    ),
    reason(
        "waiting_for_resume",
        "The job is paused[ since {since:moment}][: {reason}]; it waits until somebody resumes it.",
        "任务已暂停[（自 {since:moment} 起）][：{reason}]；等待恢复。",
        (
            "noonmark resume JOB",
            "noonmark resume JOB",
        ),
    ),
    reason(
        "weekend",
        "It was due on a weekend[ ({day:day})], and the rule runs on weekdays only.",
        "到期日是周末[（{day:day}）]，规则只允许工作日运行。",
        (
            "Allow it with guardrails.allow_weekend: true",
            "如需周末运行，设置 guardrails.allow_weekend: true",
        ),
    ),
    reason(
        "weekend_wait",
        "It is a weekend[ ({day:day})]; it waits for the next weekday.",
        "现在是周末[（{day:day}）]；等到下一个工作日。",
        (
            "Allow it with guardrails.allow_weekend: true",
            "如需周末运行，设置 guardrails.allow_weekend: true",
        ),
    ),
    reason(
        "window_not_open",
        "Its window is not open yet[; it opens at {opens:moment}].",
        "执行窗口尚未开放[；{opens:moment} 开放]。",
        WAIT,
    ),
    reason(
        "flag_missing",
        "It waits for [{missing:facts}]|[data that is not ready yet][ ({why})].",
        "正在等待[{missing:facts}]|[尚未就绪的数据][（{why}）]。",
        (
            "When the data is there: noonmark signal FLAG; set flags: noonmark flags",
            "数据就绪后：noonmark signal 标志；查看标志：noonmark flags",
        ),
    ),
    reason(
        "dependency_missing",
        "It waits for [{missing:facts}]|[another job to succeed][ ({why})].",
        "正在等待[{missing:facts}]|[所依赖的任务成功][（{why}）]。",
        (
            "See what the other job waits for: noonmark why OTHER-JOB",
            "查看所依赖的任务：noonmark why 该任务",
        ),
    ),
    reason(
        "slot_wait",
        "Another round was in progress[ ({occupant:run})] when this one was last looked at; it waits for its turn.",
        "上次查看时另一轮正在进行[（{occupant:run}）]；等待轮到它。",
        WAIT,
    ),
    reason(
        "lock_wait",
        "Somebody else holds the lock[ {lock}][ at {at}]; it is asked again until it is free.",
        "锁[ {lock} ]被他人持有[（{at}）]；会反复询问直到空闲。",
        WAIT,
    ),
    reason(
        "lock_away",
        "Its lock[ {lock}] could not be asked for[: {error}]; it does not start without it.",
        "无法申请锁[ {lock}][：{error}]；没有锁就不运行。",
        (
            "Bring the lock service back, or correct lock.at; it goes on by itself then",
            "恢复锁服务，或改正 lock.at；之后会自动继续",
        ),
        level=1,
    ),
    reason(
        "handler_missing",
        (
            "No worker that is awake has the code for [job {job}]|[this job][: {error}]; it waits for one as long as its "
            "window and its catch-up limit allow."
        ),
        "在线的 worker 都没有[任务 {job} ]|[该任务]的代码[：{error}]；在其时间窗和补跑期限之内等待。",
        (
            "Start a worker that declares it; where it is no more: noonmark end JOB --reason WHY, noonmark cancel RUN",
            "启动包含该任务代码的 worker；若任务已不再需要：noonmark end JOB --reason 原因，余下的 noonmark cancel RUN",
        ),
        level=2,
    ),
    reason(
        "job_ended",
        "[The job {job}]|[Its job] was ended; what is still queued for it is kept and does not run.",
        "[任务 {job} ]|[该任务]已终止；仍在排队的会保留，但不会运行。",
        (
            "Declare the job again, or cancel what is left: noonmark cancel RUN",
            "重新声明该任务，或取消余下的：noonmark cancel RUN",
        ),
        level=2,
    ),
    reason(
        "rule_unreadable",
        "The rule [of {job} ]could not be applied here[: {error}].",
        "[任务 {job} 的]规则在此无法应用[：{error}]。",
        (
            "Correct the rule, or upgrade this process if a newer version wrote it; then restart the worker",
            "修正规则；若由更新的版本写入，请升级本进程；然后重启 worker",
        ),
        level=2,
    ),
    reason(
        "start_failed",
        "It could not be started[: {error}]|[ because what it depends on kept changing].",
        "无法启动[：{error}]|[，因为所依据的条件不断变化]。",
        WAIT,
        level=1,
    ),
)

NOT_RUN: tuple[Reason, ...] = (
    reason(
        "window_closed",
        "Its window closed[ at {closes:moment}] before it could start[; {last:because}].",
        "执行窗口已[于 {closes:moment} ]关闭，未能开始[；{last:because}]。",
        CLOSED,
        level=3,
    ),
    reason(
        "limit_passed",
        "It did not start in time[: {late:length} late][, at most {allowed:length} allowed][; {last:because}].",
        "未能及时开始[：已晚 {late:length}][，最多允许 {allowed:length}][；{last:because}]。",
        LATE,
        level=3,
    ),
    reason(
        "key_held",
        (
            "[Key {key} is]|[Its key is] already held by [{holder:run}]|[another occurrence][ ({state:state})][, "
            "ended {ended_at:moment}]; the same thing is not done twice."
        ),
        (
            "[键 {key} ]|[该键]已由[ {holder:run} ]|[另一次运行]占有[（{state:state}）][，结束于 "
            "{ended_at:moment}]；同一件事不做两次。"
        ),
        AGAIN,
    ),
    reason(
        "slot_taken",
        "Another round was in progress[ ({occupant:run})] when this one could have started, so it was skipped.",
        "本轮可以启动时，另一轮[（{occupant:run}）]正在进行，因此跳过。",
        (
            "If every round must run: overlap: queue_all; if rounds may overlap: overlap: allow",
            "若每一轮都要跑：overlap: queue_all；若允许重叠：overlap: allow",
        ),
    ),
    reason(
        "lock_held",
        "Somebody else held its lock[ {lock}][ at {at}], so this round was skipped.",
        "锁[ {lock} ]被他人持有[（{at}）]，本轮跳过。",
        (
            "To wait for the lock instead: lock.busy: wait",
            "若要等待而不是跳过：lock.busy: wait",
        ),
    ),
    reason(
        "superseded",
        "It was missed, and a later moment[ ({by:moment})] was due as well by then; only the latest is run.",
        "当时错过了，等到检查时更晚的一次[（{by:moment}）]也已到期；只运行最近的一次。",
        (
            "To run every missed moment: catch_up.missed: all",
            "若每次都必须补跑：catch_up.missed: all",
        ),
    ),
    reason(
        "range_superseded",
        "These moments[ ({count:count})] were missed[, the last at {until:moment}]; only the latest one due is run.",
        "这些时刻[（{count:count} 次）]已错过[，最后一次为 {until:moment}]；只补最近的一次。",
        (
            "To run every missed moment: catch_up.missed: all",
            "若每次都必须补跑：catch_up.missed: all",
        ),
    ),
    reason(
        "missed_skipped",
        "It was missed[ (noticed {late:length} late)], and the rule does not run missed moments later.",
        "当时错过了[（{late:length}后才发现）]，规则规定错过不补。",
        (
            "To run the latest missed moment: catch_up.missed: latest",
            "若要补跑最近一次：catch_up.missed: latest",
        ),
    ),
    reason(
        "revision_superseded",
        "The rule was changed before it was due[ (revision {revision})], and no longer yields this moment.",
        "到期之前规则已修改[（修订 {revision}）]，新规则不含这一时刻。",
        (
            "noonmark show JOB has the rule in force and since when",
            "noonmark show JOB 可看现行规则及其生效时间",
        ),
    ),
    reason(
        "worker_gone",
        "It was for one worker only[ ({worker})], and that worker is gone.",
        "只属于某一个 worker[（{worker}）]，而它已不在。",
        LOST,
    ),
    reason(
        "cancelled",
        "It was cancelled[ by {by}][: {reason}].",
        "已[由 {by} ]取消[：{reason}]。",
        ALL_THE_SAME,
    ),
    reason(
        "cancel_requested",
        "[{by}]|[Somebody] asked for it to be cancelled[: {reason}]; the run is told to stop.",
        "[{by} ]|[有人]请求取消[：{reason}]；正在通知运行停止。",
        WAIT,
    ),
    reason(
        "cancelled_before_create",
        "It was cancelled[ by {by}] before it was asked for[: {reason}]; the key is held so that it does not run.",
        "在创建之前就已[由 {by} ]取消[：{reason}]；键被占住，因此不会运行。",
        ALL_THE_SAME,
    ),
)
