"""The story templates continued: names of things in checks, forecasts, proofs, and what is not to be found.

Rule of the file: as in ``explain/messages.py``, which sums both up.
"""

from __future__ import annotations

MORE_MESSAGES: dict[str, tuple[str, str]] = {
    # -- names of things in checks
    "check_due": ("due {at}", "应于 {at}"),
    "try_success": ("success", "成功"),
    "try_failed": ("failed", "失败"),
    "try_lost": ("lost", "失去租约"),
    "try_handed_back": ("handed back", "已归还"),
    "try_cancelled": ("cancelled", "已取消"),
    "try_running": ("running", "运行中"),
    "check_lease_free": ("free", "空闲"),
    "check_not_reached": ("not reached", "未走到"),
    "check_lease_held": ("{worker} until {at}, fence {fence}", "{worker} 持有到 {at}，fence {fence}"),
    "check_lease_was": ("{worker}, fence {fence}", "{worker}，fence {fence}"),
    "line_late": (
        "Try {number} was given up, and came back with a success {at}: its work is done, though nothing counts it{mark}",
        "第 {number} 次尝试已被放弃，却于 {at} 报告成功：它的工作已完成，但未被计入{mark}",
    ),
    "line_left": (
        (
            "Its process ended and left {count} behind that it had started; they were ended with the run. What is to "
            "live on needs a session of its own (setsid)"
        ),
        "它的进程结束时还留下由它启动的 {count} 个进程，已随运行一并结束。要继续存活的程序需要自己的会话（setsid）",
    ),
    "line_left_running": (
        (
            "Its process ended and left {count} behind that could not be ended, for another user runs them; they may be "
            "at work yet"
        ),
        "它的进程结束时还留下 {count} 个无法结束的进程（属于别的用户），可能仍在工作",
    ),
    "late_over": (".", "。"),
    "late_mark": (
        ". Where that is what was wanted: noonmark mark {run} done --reason WHY",
        "。若这正是所需结果：noonmark mark {run} done --reason 原因",
    ),
    "line_unresolved": (
        "Still for a person to deal with ({count} of this job): {named}. Look: noonmark why {first}",
        "该任务仍需人工处理的（{count} 次）：{named}。查看：noonmark why {first}",
    ),
    # -- forecast
    "dst_back": (
        "clocks went back: the offset changed from {old} to {new}, local time is kept",
        "时钟回拨：偏移由 {old} 变为 {new}，本地时间不变",
    ),
    "dst_forward": (
        "clocks went forward: the offset changed from {old} to {new}, local time is kept",
        "时钟拨快：偏移由 {old} 变为 {new}，本地时间不变",
    ),
    "dst_gap": (
        "{nominal} does not exist on that day: it runs at the end of the gap",
        "当天不存在 {nominal}：在跳过时段的末尾运行",
    ),
    "dst_fold": (
        "{nominal} happens twice on that day: it runs once, the first time",
        "当天 {nominal} 出现两次：只在第一次运行",
    ),
    "next_weekend": ("{day}: the guard will skip it", "{day}：日历守卫会跳过"),
    "next_paused": ("the job is paused: it will be skipped until resumed", "任务已暂停：恢复前都会跳过"),
    "next_none": ("nothing is coming", "没有后续时刻"),
    "in": ("in {length}", "{length}后"),
    "ago": ("{length} ago", "{length}前"),
    # -- verify
    "verify_head": (
        "{due} occurrences became due between {since} and {until} {zone} (jobs: {jobs}, workers: {workers})",
        "{since} 至 {until}（{zone}）之间有 {due} 次触发到期（任务 {jobs} 个，worker {workers}）",
    ),
    "verify_line": (
        "{due} occurrences due · {accounted} accounted for · {twice} ran twice · {missing} missing",
        "{due} 次到期 · {accounted} 次有据可查 · {twice} 次跑了两遍 · {missing} 次去向不明",
    ),
    "verify_workers": ("{workers}", "{workers} 个"),
    "verify_died": ("{workers}, of which {died} died", "{workers} 个，其中 {died} 个死亡"),
    "verify_table": ("PROBLEM|JOB|WHEN|SEEN|LOOK", "问题|任务|时刻|所见|查看"),
    "what_to_do": ("What to do: {remedy}", "怎么办：{remedy}"),
    "head_looks": ("looked {looks}", "看过 {looks}"),
    "head_key": ("key {key}", "键 {key}"),
    "head_revision": ("revision {revision}", "修订 {revision}"),
    "head_zone": ("times are {zone}", "时间均为 {zone}"),
    "verify_beside": (
        "beside them {count} refused as duplicates: somebody asked again for what has its occurrence",
        "此外拦下 {count} 次重复：请求的事已有其触发",
    ),
    "verify_beside_moments": (
        (
            "beside them {count} moments of a schedule ended as duplicates: another occurrence has their key "
            "(noonmark history --state refused_duplicate)"
        ),
        "此外有 {count} 个计划时刻因重复而结束：其键已属于另一次触发（noonmark history --state refused_duplicate）",
    ),
    "verify_ok": ("OK", "正常"),
    "verify_bad": ("NOT OK", "有问题"),
    "verify_refused": (
        "refused so far: duplicates {duplicates}, stale writes {stale}",
        "累计拒绝：重复 {duplicates} 次，过期写入 {stale} 次",
    ),
    "problem_twice": ("ran twice", "跑了两遍"),
    "problem_missing": ("missing", "去向不明"),
    "problem_overdue": ("overdue without a reason", "逾期且无原因"),
    "problem_forgotten": ("nobody looks again (I4)", "再无人查看 (I4)"),
    "problem_silent": ("ended without a reason (I4)", "无原因地结束 (I4)"),
    "problem_ground": ("before its time (I5)", "早于其时间 (I5)"),
    "problem_seen_ground": ("it began {seconds} s too early", "早了 {seconds} 秒开始"),
    "problem_frontier": ("frontier (I13)", "前沿行 (I13)"),
    "problem_attempts": ("too many attempts (I7)", "尝试次数过多 (I7)"),
    "problem_early": ("before its rule (I8)", "早于规则生效 (I8)"),
    "problem_importing": ("import stopped halfway", "导入中途停止"),
    "problem_seen_importing": (
        "it ran, by the journals, and is not marked as done; run the import again",
        "日志表明它运行过，但尚未标记为完成；请重新导入",
    ),
    "problem_unreadable": ("rule unreadable", "规则无法读取"),
    "problem_seen_unreadable": ("revision {revision} of its rule cannot be read", "规则的修订 {revision} 无法读取"),
    "problem_seen_frontier": ("{count} open frontier rows, 1 wanted", "有 {count} 个未结束的前沿行，应为 1 个"),
    "problem_seen_attempts": ("{attempt} of {allowed}", "{attempt} 次，最多 {allowed} 次"),
    "problem_seen_wins": ("won by {fences}", "由 {fences} 先后成功"),
    "problem_seen_lost": (
        "{first}, lost by the store, as {writer} remembers, and {second}",
        "{first}（据 {writer} 所记，已被存储丢失）与 {second}",
    ),
    "verify_may_repeat": (
        "may repeat what the store lost when it went back in time: {count} runs (noonmark ledger show)",
        "可能重复了存储回退时丢失的运行：{count} 次（noonmark ledger show）",
    ),
    "line_former": (
        (
            "Another store lay here before ({store}; noticed {at}): what it held (occurrences, pauses, flags, outcomes) is "
            "not in this one. See: noonmark doctor"
        ),
        "此处先前是另一个存储（{store}；{at} 发现）：其内容（触发、暂停、标志、结果）不在本存储中。请看：noonmark doctor",
    ),
    "verify_former": (
        "of what was due before {at} nothing is proved: another store lay here then, {former} (noonmark doctor)",
        "本存储对 {at} 之前一无所知：那时这里是另一个存储（{former}），其中到期的内容未被证明（noonmark doctor）",
    ),
    "verify_untold": (
        (
            "The store lacks what it had acknowledged to {writers} (as their receipts say): it went back in time, and "
            "what it held between {since} and {until} {zone} is gone."
        ),
        "存储缺少它曾向 {writers} 确认过的内容（据其回执）：它回退过，{since} 至 {until}（{zone}）之间的内容已丢失。",
    ),
    "verify_rollback_open": (
        "Rollback {number} is open: the store lost what it held between {since} and {until} {zone}.",
        "回退 {number} 尚未放行：存储丢失了 {since} 至 {until}（{zone}）之间的内容。",
    ),
    "verify_rollback_over": (
        "Rollback {number} (the store lost what it held between {since} and {until} {zone}) was released by {by}, {at}.",
        "回退 {number}（存储丢失了 {since} 至 {until}（{zone}）之间的内容）已由 {by} 于 {at} 放行。",
    ),
    "verify_unrecorded": (
        "successes of this span in the workers' journals that are none in the store: {count}",
        "worker 日志中属于这段时间、而存储中没有的成功：{count} 次",
    ),
    "verify_no_journals": (
        "no journal of a worker was asked what ran in it (--state DIR)",
        "没有查问任何 worker 日志（--state 目录），其间跑过什么不得而知",
    ),
    "verify_do_untold": (
        "do: start a worker, so that what may have run is held (noonmark worker APP); then noonmark ledger show",
        "处理：启动一个 worker，扣住可能已运行的触发（noonmark worker APP），再执行 noonmark ledger show",
    ),
    "verify_do_open": (
        "do: noonmark ledger show; it is over when a person releases it",
        "处理：noonmark ledger show；有人放行后才算结束",
    ),
    "verify_do_import": (
        "to bring them back: noonmark ledger export FILE --from-state, then noonmark ledger import FILE",
        "若要取回：noonmark ledger export 文件 --from-state，再 noonmark ledger import 文件",
    ),
    "problem_seen_rows": ("{first} and {second}", "{first} 与 {second}"),
    "too_many": (
        "{job} was due more than {limit} times in that span",
        "{job} 在这段时间内到期超过 {limit} 次",
    ),
    "line_holder_ended": (
        "r{holder} is open and nobody will run it: its job {job} was ended. Was it renamed?",
        "r{holder} 尚未结束，但不会有人运行它：其任务 {job} 已终止。是否改了名？",
    ),
    "line_holder_no_code": (
        "r{holder} is open and nobody can run it: no worker that is awake has code for its job {job}. Was it renamed?",
        "r{holder} 尚未结束，但没有人能运行它：在线的 worker 都没有任务 {job} 的代码。是否改了名？",
    ),
    "cancelled_unknown": (
        (
            "Nothing had this key when {actor} cancelled it at {ended}: {reason} It is held since: what a schedule, an "
            "event or a call asks for with it does not run."
        ),
        (
            "{actor} 于 {ended} 取消时，没有任何触发用这个键：{reason}此后键被占住：时间表、事件或调用以它请求的都不会运行。"
        ),
    ),
    "line_asked_over": (
        "Its key had been r{id}'s ({state}) and was asked for all the same: generation {generation}.",
        "它的键原属 r{id}（{state}），仍被请求：第 {generation} 代。",
    ),
    "job_was_ended": (
        "{job} was ended at {at} by {actor}: {reason} Nothing of it falls due until it is declared again.",
        "{job} 已由 {actor} 于 {at} 终止：{reason}重新声明之前不会再有到期的时刻。",
    ),
    "ended_before_due": (
        "It did not run: its job was ended at {at} by {actor}, before it was due ({due}): {reason}",
        "没有运行：在它到期（{due}）之前，其任务已由 {actor} 于 {at} 终止：{reason}",
    ),
    "history_ended": (
        "Its job was ended at {at} by {actor}, before it was due: {reason}",
        "在它到期之前，其任务已由 {actor} 于 {at} 终止：{reason}",
    ),
    "after_job_ended": (
        "Nothing was due at {shown}: {job} was ended at {at} by {actor}: {reason}",
        "{shown} 没有任何应运行的时刻：{job} 已由 {actor} 于 {at} 终止：{reason}",
    ),
    "line_next_due": ("Next: due since {due} ({in_}).", "下一次：{due} 已到期（{in_}）。"),
    "line_newest": ("Its newest occurrence (r{id}): {sentence}", "它最近的一次触发（r{id}）：{sentence}"),
    "do_declare": (
        "To have the job again: noonmark rules apply FILE, or start a worker whose app declares it",
        "若要恢复该任务：noonmark rules apply 文件，或启动声明了它的 worker",
    ),
    "do_run": ("To run it now: noonmark run JOB --reason WHY", "若要现在运行：noonmark run JOB --reason 原因"),
    "nothing_recorded_ended": (
        "nothing was ever recorded for {name}, and the job was ended",
        "{name} 从无记录，且该任务已终止",
    ),
    "nothing_to_come": (
        (
            "nothing was ever recorded for {name}, and nothing of it is to come: its last moment, {last}, was before its "
            "rule took effect"
        ),
        "{name} 从无记录，也不会再有到期的时刻：它最后的时刻 {last} 早于规则生效",
    ),
    "do_correct": (
        "a rule never runs its past: correct its date, or ask for a run: noonmark run {name}",
        "规则不会补跑过去的时刻：请改正日期，或请求运行：noonmark run {name}",
    ),
    "next_none_since": ("nothing is coming: the last moment was {last}", "没有后续时刻：最后的时刻是 {last}"),
    "do_show": ("noonmark show {name} says by whom and why", "noonmark show {name} 可看由谁终止及原因"),
    "do_ask": ("it runs when asked: noonmark run {name}", "它只在被请求时运行：noonmark run {name}"),
    "do_idle_holder": (
        "If it was renamed: noonmark cancel r{holder}, then noonmark run JOB --again --reason WHY; and noonmark end {job}",
        "若是改了名：noonmark cancel r{holder}，再 noonmark run JOB --again --reason 原因；并 noonmark end {job}",
    ),
    "as_things_stand_ends": (
        "As things stand it ends without having run: {reason}",
        "按目前情况，它不运行就会结束：{reason}",
    ),
    # -- what is not to be found, and what to do then
    "no_job": ("there is no job {name!r} in {url}", "{url} 中没有任务 {name!r}"),
    "no_job_declared": ("{app} declares no job {name!r}", "{app} 没有声明任务 {name!r}"),
    "no_occurrence": ("there is no occurrence r{number}", "没有触发 r{number}"),
    "no_occurrence_lost": (
        (
            "there is no occurrence r{number}; the store lost what it held between {since} and {until} {zone} "
            "(rollback {epoch}), and it may have been among that"
        ),
        "没有触发 r{number}；存储丢失了 {since} 到 {until}（{zone}）之间的内容（回退 {epoch}），它可能就在其中",
    ),
    "no_key_lost": (
        (
            "no occurrence in the store has the key {key!r}; the store lost what it held between {since} and {until} {zone} "
            "(rollback {epoch}), and one that had it may have been among that"
        ),
        (
            "存储里没有触发用过键 {key!r}；存储丢失了 {since} 到 {until}（{zone}）之间的内容（回退 {epoch}），"
            "用过它的可能就在其中"
        ),
    ),
    "do_lost": (
        "noonmark ledger show; what the workers of other machines know: noonmark why --key KEY --state DIR",
        "noonmark ledger show；其他机器上 worker 所知：noonmark why --key 键 --state 目录",
    ),
    "no_key": ("no occurrence ever had the key {key!r}", "从来没有触发用过键 {key!r}"),
    "no_key_known": (
        (
            "the store has no occurrence with the key {key!r}, but a journal of a worker does: {job}, r{number}, ended "
            "as {outcome} at {at} (writer {writer})"
        ),
        "存储中没有键为 {key!r} 的触发，但 worker 的日志里有：{job}，r{number}，于 {at} 以 {outcome} 结束（{writer} 所记）",
    ),
    "no_open_key": ("nothing open holds the key {key!r}", "没有未结束的触发持有键 {key!r}"),
    "nothing_recorded": ("nothing is recorded for {name} yet", "{name} 还没有任何记录"),
    "no_subject": (
        "{name} has no {subject!r}, neither by its rule nor in any record",
        "{name} 没有 {subject!r}：规则里没有，记录里也没有",
    ),
    "say_which": ("say which job, key or occurrence", "请指明任务、键或触发"),
    "do_history": ("noonmark history lists them", "noonmark history 可列出全部"),
    "do_history_keys": ("noonmark history JOB shows keys", "noonmark history 任务 可看到键"),
    "do_ledger_show": (
        "noonmark ledger show says whether the store lost it; noonmark ledger export FILE --from-state, then import",
        "noonmark ledger show 可看存储是否丢失了它；取回：noonmark ledger export 文件 --from-state，再 import",
    ),
    "do_subjects": ("it has {names}", "它有：{names}"),
    "do_no_subjects": ("it has no subjects: noonmark why {name}", "它不分对象：noonmark why {name}"),
    "do_next": ("noonmark next {name} shows when it is due", "noonmark next {name} 可看何时到期"),
    "do_jobs": ("noonmark jobs lists them", "noonmark jobs 可列出全部"),
    "do_register": (
        "noonmark jobs lists them; a worker registers the jobs of its app",
        "noonmark jobs 可列出全部；worker 启动时会登记其任务",
    ),
    "do_near": ("did you mean {near}?", "是否想写 {near}？"),
    "do_declared": ("it declares: {names}", "它声明了：{names}"),
    "do_key_job": (
        "to hold it before it is asked for, say whose it is: --job JOB",
        "若要预先占住它，请说明属于哪个任务：--job 任务",
    ),
}
