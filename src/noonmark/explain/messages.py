"""The story templates of ``why``, ``next`` and ``verify``, in English and Chinese.

Rule of the file: only text.  Reasons (why a check refused) live in ``core/reasons.py``; these sentences tie a reason to
a moment, a worker and an outcome.  Both languages have the same keys and the same names in braces, which a test holds.
"""

from __future__ import annotations

from noonmark.core.told import Told, told
from noonmark.explain.messages_more import MORE_MESSAGES

LANGUAGES = ("en", "zh")

MESSAGES: dict[str, tuple[str, str]] = {
    # -- it ran
    "ran_on_time": (
        "It ran on time: due {due}, started {started} on {worker}, done after {took}.",
        "按时运行：应于 {due} 运行，{started} 在 {worker} 上开始，用时 {took}。",
    ),
    "ran_late": (
        "It ran {late} late, at {started} on {worker}: {cause}",
        "晚了 {late}，于 {started} 在 {worker} 上运行：{cause}",
    ),
    "ran_waited": (
        "It ran {late} late, at {started} on {worker}, after waiting for {what}.",
        "晚了 {late}，于 {started} 在 {worker} 上运行，此前在等{what}。",
    ),
    "waited_facts": ("{facts}", "{facts}"),
    "waited_resume": ("the job to be resumed", "任务恢复"),
    "waited_weekday": ("a weekday", "工作日"),
    "waited_round": ("the round before it to end", "上一轮结束"),
    "waited_lock": ("its outside lock", "其外部锁"),
    "waited_window": ("its window to open", "时间窗开放"),
    "waited_handler": ("a worker with the code for it", "有其代码的 worker"),
    "waited_start": ("a start that held", "启动成功"),
    "waited_release": (
        "a person to release what was held because the store had lost data",
        "有人放行因存储丢失数据而扣住的触发",
    ),
    "ran_after_retry": (
        (
            "It ran to the end on try {attempt} of {tries}: {before} failed ({error}), "
            "and {worker} finished it at {ended}."
        ),
        "第 {attempt} 次（最多 {tries} 次）运行完成：此前 {before} 次失败（{error}），{worker} 于 {ended} 完成。",
    ),
    "ran_after_persons_retry": (
        (
            "It ran to the end after a person's retry, on try {attempt} of {tries}: {before} failed before ({error}), "
            "and {worker} finished it at {ended}."
        ),
        "人工重试后第 {attempt} 次（最多 {tries} 次）完成：此前 {before} 次失败（{error}），{worker} 于 {ended} 完成。",
    ),
    "ran_after_takeover": (
        (
            "It ran once to the end, on try {attempt}: {loss} {worker} took over at {taken} (fence {old} → {new}) "
            "and finished at {ended}."
        ),
        "最终只完成一次，第 {attempt} 次：{loss}{worker} 于 {taken} 接管（fence {old} → {new}），{ended} 完成。",
    ),
    "ran_by_person": (
        "{actor} marked it as done at {ended}: {reason}",
        "{actor} 于 {ended} 标记为已完成：{reason}",
    ),
    "cause_asleep": ("no worker was awake from {from_} to {to}.", "从 {from_} 到 {to} 没有任何 worker 在线。"),
    "cause_asleep_before": (
        "no worker had been awake before {to}.",
        "在 {to} 之前没有任何 worker 在线。",
    ),
    "cause_away": (
        "the store was away from {from_} to {to}, as {worker} saw it.",
        "{worker} 发现存储在 {from_} 至 {to} 无法访问。",
    ),
    "cause_busy": (
        "workers were awake, but the first one to take it up did so only then.",
        "有 worker 在线，但直到那时才有一个取走它。",
    ),
    "worker_died": (
        "{worker} (pid {pid}) was last heard of at {seen} and is gone;",
        "{worker}（pid {pid}）最后一次心跳在 {seen}，此后消失；",
    ),
    "worker_paused": (
        "{worker} stopped renewing its lease although it lived on (last heard of at {seen});",
        "{worker} 停止续租但并未死亡（最后心跳 {seen}）；",
    ),
    "worker_silent": (
        (
            "{worker} (pid {pid}) was last heard of at {seen}, and it is not known yet whether it is gone "
            "(its heartbeat counts until {until});"
        ),
        "{worker}（pid {pid}）最后一次心跳在 {seen}，是否已消失尚不可知（心跳有效到 {until}）；",
    ),
    "worker_process_there": (
        "{worker} stopped renewing its lease although its process {pid} is still there (last heard of at {seen});",
        "{worker} 停止续租，但其进程 {pid} 仍在（最后心跳 {seen}）；",
    ),
    "worker_cut_off": (
        "{worker} could not renew its lease while the store was away from {from_} to {to} (last heard of at {seen});",
        "存储在 {from_} 至 {to} 无法访问，{worker} 因此未能续租（最后心跳 {seen}）；",
    ),
    "worker_ended": (
        "{worker} ended at {ended} without finishing it;",
        "{worker} 于 {ended} 退出而未完成；",
    ),
    "worker_unknown": ("{worker} lost its lease at {ended};", "{worker} 于 {ended} 失去租约；"),
    # -- it runs, or will
    "running": (
        "It is running now: since {started} on {worker}, try {attempt} of {tries}, lease until {lease}.",
        "正在运行：{started} 起在 {worker} 上，第 {attempt} 次（最多 {tries} 次），租约到 {lease}。",
    ),
    "running_late": (
        "It is running now, {late} late: since {started} on {worker}, try {attempt} of {tries}, lease until {lease}.",
        "正在运行，晚了 {late}：{started} 起在 {worker} 上，第 {attempt} 次（最多 {tries} 次），租约到 {lease}。",
    ),
    "running_taken_over": (
        "It is running again, on try {attempt}: {loss} {worker} took over at {taken} (fence {old} → {new}).",
        "正在再次运行，第 {attempt} 次：{loss}{worker} 于 {taken} 接管（fence {old} → {new}）。",
    ),
    "running_lapsed": (
        (
            "It was running on {worker} since {started}, but its lease ended at {lease} and nobody renewed it: "
            "{loss} the next worker that is awake takes over."
        ),
        "自 {started} 起在 {worker} 上运行，但租约于 {lease} 到期且无人续租：{loss}下一个在线的 worker 会接管。",
    ),
    "running_looked_at": (
        (
            "It was running on {worker} since {started}, but its lease was found to be over at {found}: {loss} "
            "{looker} is looking at it now."
        ),
        "自 {started} 起在 {worker} 上运行，但于 {found} 发现其租约已到期：{loss}{looker} 正在查看。",
    ),
    "running_waits": (
        (
            "It was running on {worker} since {started}, but its lease was found to be over at {found}: {loss} "
            "nobody runs it now. {reason} Next look at {due} ({in_})."
        ),
        (
            "自 {started} 起在 {worker} 上运行，但于 {found} 发现其租约已到期：{loss}目前无人运行它。"
            "{reason}下次查看在 {due}（{in_}）。"
        ),
    ),
    "running_cancel": (
        "It is running on {worker} since {started}, and {actor} asked for it to be cancelled: {reason}",
        "自 {started} 起在 {worker} 上运行，{actor} 已请求取消：{reason}",
    ),
    "retrying": (
        "Try {attempt} of {tries} failed ({error}); try {next} is due at {due} ({in_}).",
        "第 {attempt} 次（最多 {tries} 次）失败（{error}）；第 {next} 次定于 {due}（{in_}）。",
    ),
    "waiting": (
        "{reason} Looked {looks}, next look at {due} ({in_}).",
        "{reason}已看过 {looks}，下次查看在 {due}（{in_}）。",
    ),
    "looks_one": ("once, at {first}", "1 次，在 {first}"),
    "looks_many": ("{count} times since {first}, last at {last}", "{count} 次，首次 {first}，最近 {last}"),
    "not_due": ("It is not due yet: it is due {due} ({in_}).", "还没到时间：应于 {due} 运行（{in_}）。"),
    "due_now": (
        "It became due at {due} ({ago} ago) and a worker is about to take it up.",
        "已于 {due} 到期（{ago}前），即将有 worker 取走。",
    ),
    "due_asleep": (
        (
            "It became due at {due} but nobody could take it up: no worker has been awake since {from_}. "
            "The first one to wake sees to it."
        ),
        "已于 {due} 到期，但无人处理：自 {from_} 起没有任何 worker 在线。第一个上线的 worker 会处理它。",
    ),
    "due_never_awake": (
        (
            "It became due at {due} but nobody could take it up: no worker was ever awake. "
            "The first one to wake sees to it."
        ),
        "已于 {due} 到期，但无人处理：从来没有 worker 在线。第一个上线的 worker 会处理它。",
    ),
    "due_no_handler": (
        "It became due at {due}, but no worker that is awake runs the job {job} ({awake} awake).",
        "已于 {due} 到期，但在线的 worker 都不运行任务 {job}（在线 {awake} 个）。",
    ),
    "due_while_full": (
        (
            "It became due at {due} and is overdue by {ago}: the workers that could take it up ({awake} awake) have "
            "{running} runs in progress, and one whose slots are all taken takes nothing before a run ends."
        ),
        (
            "已于 {due} 到期，逾期 {ago}：能运行它的 worker（在线 {awake} 个）正在运行 {running} 次，"
            "槽位全满的 worker 要等一次运行结束才会取走新的。"
        ),
    ),
    "due_overdue": (
        "It became due at {due} and is overdue by {ago}, although a worker is awake: this should not be.",
        "已于 {due} 到期，逾期 {ago}，尽管有 worker 在线：这不应该发生。",
    ),
    "as_things_stand_runs": ("As things stand it would run.", "按目前情况，它会运行。"),
    "as_things_stand_not": ("As things stand it would not run: {reason}", "按目前情况，它不会运行：{reason}"),
    # -- it did not run
    "missed_waiting": (
        "It did not run: {reason} That was still so when {limit}.",
        "没有运行：{reason}直到{limit}时仍是如此。",
    ),
    "missed_queued": (
        "It did not run: it waited for the rounds before it to end, and had not had its turn when {limit}.",
        "没有运行：它在等之前的轮次结束，直到{limit}时仍未轮到。",
    ),
    "missed_asleep": (
        "It did not run: no worker was awake from {from_} to {to}, and {limit}.",
        "没有运行：从 {from_} 到 {to} 没有任何 worker 在线，而{limit}。",
    ),
    "missed_away": (
        "It did not run: the store was away from {from_} to {to}, as {worker} saw it, and {limit}.",
        "没有运行：{worker} 发现存储在 {from_} 至 {to} 无法访问，而{limit}。",
    ),
    "missed_looked_late": (
        "It did not run: {limit}, and the first worker to look at it did so only at {ended}.",
        "没有运行：{limit}，而直到 {ended} 才有 worker 查看它。",
    ),
    "missed_asked_late": (
        "It did not run: {limit}, before it was asked for at {asked}.",
        "没有运行：{limit}，而它在 {asked} 才被请求。",
    ),
    "missed_plain": ("It did not run: {limit}.", "没有运行：{limit}。"),
    "missed_after_tries": (
        "It did not finish: {attempts} of {tries} tries were made (last: {error}), then {limit}.",
        "没有完成：已尝试 {attempts} 次（最多 {tries} 次，最近一次：{error}），之后{limit}。",
    ),
    "limit_window": ("its window closed at {at}", "时间窗在 {at} 关闭"),
    "limit_delay": (
        "its catch-up limit ended at {at} (at most {allowed} late)",
        "补跑期限在 {at} 结束（最多晚 {allowed}）",
    ),
    "limit_other": ("it was given up at {at}", "在 {at} 被放弃"),
    "failed": (
        "It needs a person: {reason} {attempts} of {tries} tries were made, the last one ended {ended}.",
        "需要人工处理：{reason}已尝试 {attempts} 次（最多 {tries} 次），最后一次结束于 {ended}。",
    ),
    "failed_unstarted": (
        "It needs a person: {reason} It was never started.",
        "需要人工处理：{reason}它从未开始。",
    ),
    "skipped": ("It was skipped by the rule: {reason}", "按规则跳过：{reason}"),
    "skipped_person": (
        "{actor} said at {ended} that it will not run: {reason}",
        "{actor} 于 {ended} 决定不运行：{reason}",
    ),
    "handled_person": (
        "{actor} marked it as handled at {ended}: {reason}",
        "{actor} 于 {ended} 标记为已处理：{reason}",
    ),
    "duplicate": (
        "It was refused as a duplicate: {key} is held by r{holder} ({job}), {state}{when}.",
        "作为重复被拒绝：{key} 由 r{holder}（{job}）持有，状态 {state}{when}。",
    ),
    "duplicate_when": (" since {at}", "，自 {at}"),
    "duplicate_unknown": (
        "It was refused as a duplicate: {key} was held by another occurrence.",
        "作为重复被拒绝：{key} 当时由另一次触发持有。",
    ),
    "cancelled": ("It was cancelled at {ended} by {actor}: {reason}", "{actor} 于 {ended} 取消：{reason}"),
    "cancelled_system": ("It was cancelled at {ended}: {reason}", "于 {ended} 取消：{reason}"),
    "range": (
        (
            "{due} is one of {count} moments from {from_} to {to} that were due together while nobody took them up; "
            "{instead}"
        ),
        "{due} 属于从 {from_} 到 {to} 的 {count} 个时刻，它们到期时无人处理；{instead}",
    ),
    "range_many": ("more than 10,000", "超过 10,000"),
    "range_instead": ("the newest one, {due} (r{id}), counts instead.", "由其中最新的 {due}（r{id}）代替。"),
    "range_skipped": (
        "the rule skips what was missed (catch_up.missed: {missed}).",
        "规则跳过漏掉的时刻（catch_up.missed: {missed}）。",
    ),
    "no_reason": ("no reason was given.", "未说明原因。"),
    "nobody": ("somebody", "某人"),
    # -- there is no row
    "before_rule": (
        "Nothing was due at {at}: the rule of {job} took effect only at {effective}.",
        "{at} 没有任何应运行的时刻：{job} 的规则在 {effective} 才生效。",
    ),
    "before_revision": (
        "{at} belongs to no revision of {job}: revision {revision}, which yields it, took effect only at {effective}.",
        "{at} 不属于 {job} 的任何修订：会产生该时刻的修订 {revision} 在 {effective} 才生效。",
    ),
    "not_a_moment": (
        "{job} is not due at {at}: its rule says {rule}. Nearest moments: {previous} and {next}.",
        "{job} 在 {at} 并不到期：规则是 {rule}。最近的时刻：{previous} 和 {next}。",
    ),
    "not_a_series": (
        "{job} has no moments of its own ({rule}), and nothing was recorded at {at}.",
        "{job} 本身没有固定时刻（{rule}），{at} 也没有任何记录。",
    ),
    "future": ("It is not due yet: {at} comes {in_}.", "还没到时间：{at}（{in_}）。"),
    "asleep_no_row": (
        (
            "Nothing has happened yet for {at}: no worker was awake from {from_} to {to}. "
            "The first one to wake sees to it."
        ),
        "{at} 还没有任何处理：从 {from_} 到 {to} 没有任何 worker 在线。第一个上线的 worker 会处理它。",
    ),
    "behind_frontier": (
        "{at} has no row yet: it comes after {frontier} (r{id}), which is still due.",
        "{at} 还没有记录：它排在仍未处理的 {frontier}（r{id}）之后。",
    ),
    "unaccounted": (
        "{at} should exist but has no record: it is unaccounted for.",
        "{at} 应当存在却没有任何记录：去向不明。",
    ),
    "each_worker_absent": (
        "{job} runs on every worker, and none was alive at {at}.",
        "{job} 在每个 worker 上各自运行，而 {at} 没有 worker 在线。",
    ),
    "now": ("now", "现在"),
    "ever": ("the beginning", "最初"),
    "none": ("none", "无"),
    # -- extra lines
    "line_run": (
        "try {number}  {worker}  fence {fence}  {started} – {ended}  {outcome}{error}",
        "第 {number} 次  {worker}  fence {fence}  {started} – {ended}  {outcome}{error}",
    ),
    "line_fence": (
        "A write by {worker} after {at} is refused (fence {old} < {new}).",
        "{worker} 在 {at} 之后的写入会被拒绝（fence {old} < {new}）。",
    ),
    "line_away": (
        "The store was away from {from_} to {to}, as {worker} saw it.",
        "{worker} 发现存储在 {from_} 至 {to} 无法访问。",
    ),
    "line_process_gone": (
        "{worker} (pid {pid}) is gone: its process is no more. Its lease counts until {lease}, then another takes over.",
        "{worker}（pid {pid}）的进程已不存在。其租约有效到 {lease}，之后由其他 worker 接管。",
    ),
    "line_next": ("Next: due {due} ({in_}).", "下一次：{due} 到期（{in_}）。"),
    "line_repeat": (
        "This may be a repeat: the store lost what it held between {since} and {until}.",
        "这可能是重复：存储丢失了 {since} 至 {until} 的数据。",
    ),
    "line_asked_again": (
        "This may be a repeat: its key was asked for after the store had lost what it held between {since} and {until}.",
        "这可能是重复：在存储丢失 {since} 至 {until} 的数据之后，又有人请求了它的键。",
    ),
    "line_ran_before": (
        (
            "It ran: the journal of {writer} has a success of this key (r{id}, {at}), which the store lost. To bring it "
            "back: noonmark ledger export FILE --from-state, then noonmark ledger import FILE"
        ),
        (
            "它运行过：{writer} 的日志中有该键的一次成功（r{id}，{at}），存储丢失了它。取回：noonmark ledger export 文件 "
            "--from-state，再 noonmark ledger import 文件"
        ),
    ),
    "line_will_be_held": (
        "The store lost what it held between {since} and {until}, and this may have run in it: the next look holds it.",
        "存储丢失了 {since} 至 {until} 的数据，它可能已在其间运行：worker 下次查看时即扣住。",
    ),
    "line_may_have_run": (
        (
            "It may have run all the same: the store lost what it held between {since} and {until}. What workers know of "
            "that comes back by: noonmark ledger import FILE"
        ),
        "它仍可能运行过：存储丢失了 {since} 至 {until} 的数据。worker 所知可由 noonmark ledger import FILE 取回。",
    ),
    "line_is_repeat": (
        "This is a repeat: the store lost a success of this key (r{id}, {at}), which the journal of {writer} has.",
        "这是重复：{writer} 的日志中有该键的一次成功（r{id}，{at}）；存储丢失了它。",
    ),
    "line_steps": ("Steps kept: {names}.", "已保存的步骤：{names}。"),
    "line_progress": ("Progress: {text}", "进度：{text}"),
    "line_duplicates": (
        "Duplicates of this key that were refused: {count} ({ids}).",
        "该键有 {count} 次重复被拒绝：{ids}。",
    ),
    "line_generation": (
        "This key was run again on purpose: repeat {generation}.",
        "该键被有意重跑：第 {generation} 次重跑。",
    ),
    "line_alert": (
        "Alert level {level} ({kind}) since {at}, {state}.",
        "告警级别 {level}（{kind}），自 {at}，{state}。",
    ),
    "alert_open": ("still open", "尚未关闭"),
    "alert_closed": ("closed {at}", "已于 {at} 关闭"),
    "line_asked": ("{actor} asked for it by hand, {at}.", "由 {actor} 于 {at} 手动请求。"),
    "line_note": ("Note by {actor}: {note}", "{actor} 的备注：{note}"),
    "line_replayed": (
        "These checks were replayed from the rule: the start itself recorded none.",
        "这些检查由规则重放得出：启动时没有单独记录。",
    ),
    "line_first_failure": ("First failure: {error}", "首次失败：{error}"),
} | MORE_MESSAGES


def message(key: str, lang: str, /, **args: object) -> Told:
    """Return the template of ``key`` in ``lang`` ("en" or "zh"; anything else reads English), filled in."""
    en, zh = MESSAGES[key]
    return told(zh if lang == "zh" else en, **args)
