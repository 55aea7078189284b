"""What the commands say, in English and Chinese: headers, fields, answers and remarks.

Rule of the file: only text.  Both languages have the same names in braces, which a test holds.  Troubles stand in
``trouble_words.py``, stories in ``explain/messages.py``.
"""

from __future__ import annotations

from noonmark.core.told import Told, told
from noonmark.faces.cli.ledger_words import LEDGER_WORDS
from noonmark.faces.cli.simulate_words import SIMULATE_WORDS
from noonmark.faces.cli.store_words import STORE_WORDS

WORDS: dict[str, tuple[str, str]] = {
    **STORE_WORDS,
    **SIMULATE_WORDS,
    **LEDGER_WORDS,
    # -- headers: columns between bars
    "jobs_header": ("JOB|SCHEDULE|NEXT|LAST|RECENT", "任务|时间表|下一次|最近一次|近况"),
    "history_header": ("ID|JOB|DUE|OUTCOME|LATE|TRY|KEY|REASON", "编号|任务|时刻|结果|晚|次|键|原因"),
    "backlog_header": ("DUE|OVERDUE|JOB|KEY|STATE|BLOCKED ON", "到期|逾期|任务|键|状态|卡在"),
    "flags_header": ("FLAG|STATE|VERSION|SINCE|BY|WAITING", "标志|状态|版本|设置于|由|等待者"),
    "leases_header": ("WORKER|JOB|ID|TRY|FENCE|SINCE|LEASE UNTIL", "worker|任务|编号|次|fence|开始|租约到"),
    "workers_header": ("WORKER|PID|HOST|STATE|HEARD OF|JOBS|CLOCK", "worker|PID|主机|状态|最近心跳|任务数|时钟偏差"),
    "next_header": ("WHEN|UTC|IN|JOB|NOTE", "何时|UTC|还有|任务|说明"),
    # -- jobs
    "paused_mark": ("(paused)", "（已暂停）"),
    "ended_mark": ("(ended)", "（已终止）"),
    "no_jobs": (
        "No jobs yet. A worker registers the jobs of its app: noonmark init, then noonmark dev jobs.py",
        "还没有任务。worker 启动时会登记其任务：先 noonmark init，再 noonmark dev jobs.py",
    ),
    "more_rows": ("{count} more, see --limit", "还有 {count} 个，见 --limit"),
    "jobs_bad": (
        "{count} jobs, {bad} need a person. Try: noonmark why {job}",
        "{count} 个任务，其中 {bad} 个需要人工处理。试试：noonmark why {job}",
    ),
    "in_parens": ("{moment} ({distance})", "{moment}（{distance}）"),
    # -- next, history
    "window_part": ("{rule}, window {window}", "{rule}，时间窗 {window}"),
    "not_stored": ("declared, not in the store yet", "已声明，但还不在存储中"),
    "nothing_comes": (
        "Nothing is coming: no job in this store has a schedule.",
        "没有后续时刻：该存储中没有带时间表的任务。",
    ),
    "nothing_comes_app": ("Nothing is coming: no job there has a schedule.", "没有后续时刻：其中没有带时间表的任务。"),
    "nothing_fits": ("Nothing is recorded that fits.", "没有符合条件的记录。"),
    "times_are": ("times are {zone}", "时间均为 {zone}"),
    "times_differ": (
        "times are in each job's own zone; --tz ZONE tells them in one",
        "时间为各任务自己的时区；--tz 时区 可统一",
    ),
    # -- backlog
    "nothing_open": ("nothing is open", "没有待处理的触发"),
    "earliest_due": ("earliest due {at} {zone}, {far}", "最早到期 {at} {zone}（{far}）"),
    "backlog_counts": (
        (
            "due now {due} · delayed {delayed} · waiting {waiting} · running {running} · retrying {retrying} · "
            "needs a person {people}"
        ),
        ("已到期 {due} · 延迟 {delayed} · 等待 {waiting} · 运行中 {running} · 重试中 {retrying} · 需人工 {people}"),
    ),
    "running_on": ("running on {worker}", "由 {worker} 运行"),
    "lease_over": ("its lease is over, nobody runs it now", "租约已到期，目前无人运行"),
    "looked_at_by": ("its lease is over, {worker} looks at it", "租约已到期，{worker} 正在查看"),
    "nobody_holds": ("nobody", "无人"),
    "looks_at_it": ("{worker} (looks)", "{worker}（查看）"),
    "nobody_awake": ("no worker is awake", "没有在线的 worker"),
    "nobody_able": ("no worker that is awake runs this job", "没有在线的 worker 运行该任务"),
    "backoff": ("waiting for its next try", "等待下次重试"),
    "not_due": ("not due", "未到时间"),
    # -- flags, leases
    "flag_set": ("set", "已设置"),
    "flag_not_set": ("not set", "未设置"),
    "flag_cleared": ("cleared", "已清除"),
    "signalled": ("{flag} {state} (version {version})", "{flag} {state}（版本 {version}）"),
    "no_flags": ("No job depends on a flag.", "没有任务依赖标志。"),
    "no_leases": ("no leases are held", "没有租约"),
    "worker_ended": ("ended", "已退出"),
    "worker_awake": ("awake", "在线"),
    "worker_no_process": ("killed", "进程已亡"),
    "worker_silent": ("silent", "无心跳"),
    "worker_gone": ("gone", "失联"),
    "clock_ok": ("ok", "正常"),
    # -- acts
    "is_cancelled": ("{names} is cancelled", "{names} 已取消"),
    "key_is_held": (
        (
            "nothing had the key {key}, so nothing was cancelled; {names} holds it from now on\n"
            "what a schedule, an event or a call asks for with it will not run; noonmark history shows the keys there are"
        ),
        (
            "没有任何触发用键 {key}，因此没有取消什么；从现在起由 {names} 占住它\n"
            "时间表、事件或调用以它请求的都不会运行；已有的键见 noonmark history"
        ),
    ),
    "is_due_again": ("{names} is due again", "{names} 已重新排入"),
    "is_done": ("{names} is marked as done", "{names} 已标记为已完成"),
    "is_handled": ("{names} is marked as handled", "{names} 已标记为已处理"),
    "is_skipped": ("{names} will not run", "{names} 不再运行"),
    "is_paused": ("{names} is paused", "{names} 已暂停"),
    "is_resumed": ("{names} is resumed", "{names} 已恢复"),
    "is_paused_ended": (
        "{names} is paused; it was ended, so this counts from when it is declared again. See: noonmark show {names}",
        "{names} 已暂停；该任务已终止，因此到重新声明时才起作用。详见：noonmark show {names}",
    ),
    "is_resumed_ended": (
        "{names} is resumed; it was ended, so nothing of it runs before it is declared again. See: noonmark show {names}",
        "{names} 已恢复；但该任务已终止，重新声明之前不会运行。详见：noonmark show {names}",
    ),
    "is_ended": (
        "{names} is ended: nothing new falls due; its history and keys stay",
        "{names} 已终止：不再有新的时刻；历史和键保留",
    ),
    "already_ended": ("{names} was ended already, nothing was changed", "{names} 本来就已终止，未作改动"),
    "is_asked_to_stop": ("{names} is running: its worker was asked to stop", "{names} 正在运行：已请求其停止"),
    "is_noted": (
        "{names} will be cancelled when its moment comes",
        "{names} 已记下取消：到期时即取消",
    ),
    "already_done": (
        "{names} is already done ({state}), nothing was changed",
        "{names} 已经完成（{state}），未作改动",
    ),
    "already_paused": ("{names} was paused already, nothing was changed", "{names} 本来就已暂停，未作改动"),
    "already_resumed": ("{names} was not paused, nothing was changed", "{names} 本来就没有暂停，未作改动"),
    "act_refused": (
        "refused: {names} is {state}, so {act} has nothing to act on. See: noonmark why {names}",
        "已拒绝：{names} 的状态是“{state}”，无法执行 {act}。详见：noonmark why {names}",
    ),
    "act_refused_key": (
        "refused: {names} has the key of {row} and is {state}, so {row} cannot be done as well. See: noonmark why {names}",
        "已拒绝：{row} 的键由 {names} 持有，其状态是“{state}”，因此 {row} 不能再算完成。详见：noonmark why {names}",
    ),
    "act_refused_job": ("refused: {names} cannot be asked to {act}", "已拒绝：{names} 无法执行 {act}"),
    "what_key": ("key {key}", "键 {key}"),
    # -- run
    "nothing_started": ("Nothing was started.", "没有启动任何运行。"),
    "run_again": (
        'To run it again on purpose: --again --reason "…"',
        "若确需再跑一次：--again --reason “…”",
    ),
    "retry_causes": (
        "What it had begun outside, and nobody knew the outcome of, is caused again.",
        "它在外部已开始、结果不明的动作会再次执行。",
    ),
    "run_outside": (
        'To run it although the window is over: --again --override window --reason "…"',
        "若要不受时间窗限制运行：--again --override window --reason “…”",
    ),
    "outside_window": ("the window was overridden", "不受时间窗限制"),
    "asked_for": ("r{number} asked for: key {key}", "r{number} 已登记：键 {key}"),
    "run_refused": ("refused: {key} {held}{when} (r{number})", "已拒绝：{key} {held}{when}（r{number}）"),
    "held_done": ("was already done", "已经完成"),
    "held_person": ("already needs a person", "已在等待人工处理"),
    "held_there": ("is already there, {state}", "已经存在，{state}"),
    "held": ("is held", "已被占有"),
    "would": ("{job} {key}: {verdict}", "{job} {key}：{verdict}"),
    "no_params": ("none", "无"),
    "params_unchecked": (
        "the rule of {job} names no param {names}; whether its function takes it is seen with --app APP",
        "{job} 的规则中没有参数 {names}；它的函数是否接受，可用 --app APP 检查",
    ),
    "part_key": ("key", "键"),
    "part_flag": ("flag", "标志"),
    "part_date": ("condition's date", "条件的日期"),
    "part_subject": ("condition's subject", "条件的对象"),
    "part_lock": ("lock", "锁"),
    # -- rules, dev, init
    "rules_ok": ("{name} loads, jobs: {count}", "{name} 可以加载，任务 {count} 个"),
    "rules_none": ("{name} declares no jobs, nothing was changed", "{name} 没有声明任务，未作改动"),
    "rule_is_over": (
        "nothing of {job} is to come: its last moment was {last}, and a rule never runs its past",
        "{job} 不会再有到期的时刻：最后的时刻是 {last}，规则不会补跑过去",
    ),
    "rule_change": ("{job}  {change}  revision {revision}", "{job}  {change}  修订 {revision}"),
    "added": ("added", "新增"),
    "changed": ("changed", "已更改"),
    "unchanged": ("unchanged", "未变"),
    "needs_function": (
        "Jobs without run or command need a worker whose app has a function of that name.",
        "没有写 run 或 command 的任务，需要一个带有同名函数的 worker。",
    ),
    "dev_begins": (
        "noonmark dev: {app}, store {store}; Ctrl-C stops it, saving a file restarts it",
        "noonmark dev：{app}，存储 {store}；Ctrl-C 停止，保存文件即重启",
    ),
    "dev_changed": ("noonmark dev: a file changed, starting anew", "noonmark dev：文件有改动，重新启动"),
    "dev_own": (
        (
            "noonmark dev: the worker itself writes {files} at its start; that does not start it anew again. Save "
            "another file, or that one when it has been still for 10 s"
        ),
        "noonmark dev：worker 启动时自己会写 {files}；这些改动不再触发重启。请保存别的文件，或等该文件静止 10 秒后再保存",
    ),
    "dev_ended": (
        "noonmark dev: the worker ended (exit {code}); waiting for a change",
        "noonmark dev：worker 已退出（退出码 {code}）；等待文件改动",
    ),
    "init_next": (
        "Next: {into}noonmark dev jobs.py      then, in another terminal: noonmark why hello",
        "接下来：{into}noonmark dev jobs.py      然后在另一个终端：noonmark why hello",
    ),
}


def say(key: str, lang: str, /, **args: object) -> Told:
    """Return a text of ``WORDS`` in ``lang`` ("zh", else English), filled in."""
    return told(WORDS[key][lang == "zh"], **args)
