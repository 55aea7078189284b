"""The catalogue of reasons, continued: how runs end, what people do, what a store reports.

Rule of the file: as in ``core/catalogue.py``.
"""

from __future__ import annotations

from noonmark.core.catalogue import AGAIN, LOST, WAIT, Reason, reason

RUN = (
    "To run it now: noonmark run JOB --reason WHY",
    "若要现在运行：noonmark run JOB --reason 原因",
)
RETRY = (
    "Mend the cause, then: noonmark retry RUN, or noonmark mark RUN handled --reason WHY",
    "修好原因后：noonmark retry RUN；或 noonmark mark RUN handled --reason 原因",
)
CHECK = (
    (
        "Check whether the outside effect happened: if it did, noonmark mark RUN done --reason WHY; if not, "
        "noonmark retry RUN, which causes it again"
    ),
    "先核实外部副作用是否已发生：若已发生，noonmark mark RUN done --reason 原因；若没有，noonmark retry RUN，会再次执行它",
)

ENDED: tuple[Reason, ...] = (
    reason(
        "succeeded",
        "It ran to the end.",
        "运行成功。",
        AGAIN,
    ),
    reason(
        "result_not_stored",
        "It ran to the end, but its result could not be stored[: {why}].",
        "运行成功，但结果无法保存[：{why}]。",
        (
            "Return JSON of at most 256 KiB; keep larger things elsewhere and return where",
            "返回不超过 256 KiB 的 JSON；更大的内容存到别处，返回其位置",
        ),
        level=1,
    ),
    reason(
        "failed_retry",
        "[Try {attempt}]|[It] failed[: {error}][; the next try is due at {due_at:moment}][, {left:tries} left].",
        "[第 {attempt} 次尝试]失败[：{error}][；{due_at:moment} 重试][，还可重试 {left:tries}]。",
        WAIT,
        level=1,
    ),
    reason(
        "failed_final",
        "It failed[ {failures:times}] and is not tried again[: {error}]; a person is needed.",
        "已失败[ {failures:times}]，不再重试[：{error}]；需要人工处理。",
        RETRY,
        level=3,
    ),
    reason(
        "not_retryable",
        "It failed in a way that another try would not mend[: {error}]; a person is needed.",
        "失败且重试无益[：{error}]；需要人工处理。",
        RETRY,
        level=3,
    ),
    reason(
        "timed_out",
        "It took longer than [its timeout of {timeout:length}]|[its timeout] and was stopped; a person is needed.",
        "运行超过[时限 {timeout:length}]|[时限]，已被停止；需要人工处理。",
        (
            "If it needs longer, raise timeout; then: noonmark retry RUN",
            "若确需更久，调大 timeout；然后 noonmark retry RUN",
        ),
        level=3,
    ),
    reason(
        "timed_out_running",
        (
            "It took longer than [its timeout of {timeout:length}]|[its timeout] and did not stop when told to: it may "
            "still be running, and what it writes here is refused; a person is needed."
        ),
        "运行超过[时限 {timeout:length}]|[时限]，要求停止后仍未停止：它可能还在运行，其写入会被拒绝；需要人工处理。",
        (
            "Let it look at ctx.lost, or give it isolation: process, so that it can be killed; then: noonmark retry RUN",
            "让它检查 ctx.lost，或设 isolation: process 以便终止；然后 noonmark retry RUN",
        ),
        level=3,
    ),
    reason(
        "payload_too_large",
        "What it was given or returned is too large to be stored[: {size:bytes}][, at most {limit:bytes}].",
        "参数或结果过大，无法保存[：{size:bytes}][，上限 {limit:bytes}]。",
        (
            "Keep it elsewhere and pass where it is",
            "将内容存到别处，只传其位置",
        ),
        level=3,
    ),
    reason(
        "lost",
        "Its worker[ {holder}] was lost; the rule waits for it[ until {until:moment}], then asks a person.",
        "worker[ {holder}] 已丢失；按规则等待[到 {until:moment}]，之后转人工。",
        LOST,
        level=1,
    ),
    reason(
        "holder_alive",
        "Its worker[ {holder}] lost the lease but seems alive; it is told to stop and gets one lease of time.",
        "worker[ {holder}] 似乎仍在运行但已失去租约；已通知其停止，再等一个租约时长。",
        WAIT,
    ),
    reason(
        "taken_over",
        "Its worker[ {holder}] lost the lease, so it is started again under a new fence[ (lost {lost:times})].",
        "worker[ {holder}] 失去租约，以新的 fence 重新开始[（累计丢失 {lost:times}）]。",
        LOST,
    ),
    reason(
        "poison",
        (
            "It lost its worker[ {lost:times}], more often than allowed[ ({max:count})]; it may be what kills "
            "them, so a person is needed."
        ),
        "运行它的 worker 已丢失[ {lost:times}]，超过上限[（{max:count}）]；可能正是它导致崩溃，需要人工处理。",
        (
            "Run it alone and watch memory and exit code; then: noonmark retry RUN",
            "单独运行并观察内存与退出码；然后 noonmark retry RUN",
        ),
        level=3,
    ),
    reason(
        "lost_manual",
        "Its worker[ {holder}] was lost, and the rule asks a person before it is started again.",
        "worker[ {holder}] 丢失，按规则须由人确认后才能再次开始。",
        CHECK,
        level=3,
    ),
    reason(
        "handed_back",
        "The worker was stopping and gave it back; the try does not count.",
        "worker 正在停止并归还了它；本次不计入尝试。",
        WAIT,
    ),
    reason(
        "lock_lost",
        "It lost its outside lock[ {lock}] while it ran and was stopped; a person is needed.",
        "运行中失去了外部锁[ {lock}]，已被停止；需要人工处理。",
        (
            "See why the lock service did not answer or the machine stood still; then, if it failed: noonmark retry RUN",
            "查明锁服务为何无应答或机器为何停顿；若已失败：noonmark retry RUN",
        ),
        level=3,
    ),
    reason(
        "effects_started",
        "It had begun to act on the outside world when it ended[ ({error})], so it is not repeated blindly.",
        "结束时已开始产生外部副作用[（{error}）]，因此不会盲目重复。",
        CHECK,
        level=3,
    ),
    reason(
        "effect_unknown",
        "An outside effect was begun, and nobody knows whether it happened[: {error}]; it is not repeated blindly.",
        "外部副作用已开始，但不知是否完成[：{error}]；绝不盲目重复。",
        CHECK,
        level=3,
    ),
)

ACTS: tuple[Reason, ...] = (
    reason(
        "released",
        "[{by}]|[Somebody] let it go after the store had lost data, so it may run now[: {reason}].",
        "[{by} ]|[有人]在存储丢失数据后放行，现在可以运行[：{reason}]。",
        WAIT,
    ),
    reason(
        "retried",
        "[{by}]|[Somebody] asked for another try[: {reason}].",
        "[{by} ]|[有人]要求重试[：{reason}]。",
        WAIT,
    ),
    reason(
        "marked_done",
        "[{by}]|[Somebody] marked it as done[: {reason}].",
        "[{by} ]|[有人]标记为已完成[：{reason}]。",
        AGAIN,
    ),
    reason(
        "marked_skip",
        "[{by}]|[Somebody] decided that it will not run[: {reason}].",
        "[{by} ]|[有人]决定不运行[：{reason}]。",
        RUN,
    ),
    reason(
        "marked_handled",
        "[{by}]|[Somebody] dealt with it elsewhere[: {reason}].",
        "[{by} ]|[有人]已另行处理[：{reason}]。",
        AGAIN,
    ),
)

LEDGER = (
    (
        "See what is held: noonmark ledger show; bring back what is known: noonmark ledger import FILE; let the rest go: "
        "noonmark ledger release --as run|done --reason WHY"
    ),
    (
        "查看：noonmark ledger show；补回已知结果：noonmark ledger import FILE；放行其余："
        "noonmark ledger release --as run|done --reason 原因"
    ),
)

STORE: tuple[Reason, ...] = (
    reason(
        "clock_behind",
        "The host's wall clock was found [{behind:length} ]behind the store's time, which goes on.",
        "主机时钟落后于存储时间[ {behind:length}]；以存储时间为准继续。",
        (
            "Set the clock of the host (NTP)",
            "校准主机时钟（NTP）",
        ),
        level=2,
    ),
    reason(
        "clock_forward",
        "The store's time was moved forward[ by {shift:length}], as most workers agree; leases keep their length.",
        "存储时间按多数 worker 的时钟前移[ {shift:length}]；租约时长不变。",
        (
            "Check the clocks of the hosts: noonmark leases",
            "检查各主机时钟：noonmark leases",
        ),
        level=2,
    ),
    reason(
        "importing",
        "An import knows that this ran, but was stopped before it was marked as done; it does not run.",
        "导入得知它已运行过，但在标记完成之前被中断；它不会运行。",
        (
            "Run the import again: noonmark ledger import FILE --go",
            "重新导入：noonmark ledger import FILE --go",
        ),
    ),
    reason(
        "held_rollback",
        "Held: the store lost what it held[ between {from:moment} and {until:moment}], and this may have run in it.",
        "已扣住：存储丢失了[ {from:moment} 至 {until:moment} 的]数据，它可能已在其间运行过。",
        LEDGER,
    ),
    reason(
        "restored_epoch",
        "Started, and this may be a repeat: the store lost what it held[ between {from:moment} and {until:moment}].",
        "已开始，但这可能是重复：存储丢失了[ {from:moment} 至 {until:moment} 的]数据。",
        LEDGER,
    ),
    reason(
        "another_store",
        (
            "Another store lay here before[ ({before})]: what it held (occurrences, pauses, flags, outcomes) is not in this "
            "one, and what is asked for again runs again."
        ),
        "此处先前是另一个存储[（{before}）]：其内容（触发、暂停、标志、结果）不在本存储中，再次请求的工作会再次运行。",
        (
            "noonmark doctor says what to do; to hear of it no more: noonmark signal noonmark:another-store --clear",
            "noonmark doctor 会说明该怎么办；不想再看到此提示：noonmark signal noonmark:another-store --clear",
        ),
        level=3,
    ),
    reason(
        "store_rolled_back",
        (
            "The store went back in time: what it held[ between {from:moment} and {until:moment}] is gone[, as writer "
            "{writer} proved]. What may have run in it is held for a person. What people did in it (cancels, pauses, flags, "
            "rules) is gone, too: do it again (noonmark ledger show)."
        ),
        (
            "存储发生回退：[{from:moment} 至 {until:moment} 的]数据已丢失[（由写入者 {writer} 证实）]。"
            "其间可能运行过的工作已扣住，等待人工处理。其间人做的事（取消、暂停、标志、规则）也丢了："
            "请重做（noonmark ledger show）。"
        ),
        LEDGER,
        level=3,
    ),
)
