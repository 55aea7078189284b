"""The field names and values of ``noonmark show``, in English and Chinese.

Rule of the file: as in ``words.py``.
"""

from __future__ import annotations

from noonmark.core.told import Told, told

SHOWN: dict[str, tuple[str, str]] = {
    "revision": ("{job}   revision {revision}", "{job}   修订 {revision}"),
    "declared": ("{job}   (declared, not in the store)", "{job}   （已声明，不在存储中）"),
    "from_rule": ("rule", "规则"),
    "from_default": ("default", "默认"),
    "from_store": ("store", "存储"),
    "from_reckoned": ("default, for the next one", "默认，按下一次推算"),
    # -- fields
    "when": ("when", "时间表"),
    "next": ("next", "下一次"),
    "each": ("each", "对象"),
    "window": ("window", "时间窗"),
    "guard": ("guard", "日历"),
    "needs": ("needs", "依赖"),
    "key": ("key", "键"),
    "business_date": ("business date", "业务日期"),
    "missed": ("catch-up", "错过时"),
    "max_delay": ("at most late", "最多晚"),
    "recheck": ("looks again", "复查"),
    "data": ("late data", "补跑数据"),
    "retry": ("retry", "重试"),
    "timeout": ("timeout", "时限"),
    "lease": ("lease", "租约"),
    "on_lost": ("worker lost", "失联时"),
    "on_rollback": ("rolled back", "存储回退时"),
    "overlap": ("overlap", "重叠"),
    "lock": ("lock", "外部锁"),
    "scope": ("scope", "范围"),
    "isolation": ("isolation", "隔离"),
    "runs": ("runs", "运行"),
    "params": ("params", "参数"),
    "owner": ("owner", "负责人"),
    "source": ("declared in", "声明于"),
    "in_force": ("in force", "生效"),
    "workers": ("workers", "worker"),
    "paused": ("paused", "暂停"),
    # -- values
    "nothing_next": ("nothing is coming", "没有后续时刻"),
    "guard_any": ("any day", "任何一天"),
    "guard_weekday": ("not on Saturdays and Sundays", "周六周日不运行"),
    "date_same": ("of the scheduled time", "与计划时刻同日"),
    "date_previous_day": ("the day before the scheduled time", "计划时刻的前一天"),
    "missed_latest": ("latest: of what was missed, only the newest runs", "latest：错过的只补最近一次"),
    "missed_all": ("all: everything that was missed runs", "all：错过的全部补跑"),
    "missed_skip": ("skip: what was missed is not run", "skip：错过的不补"),
    "delay_window": ("until the window ends", "到时间窗结束"),
    "delay_unlimited": ("however late", "不限"),
    "delay_length": ("{length}", "{length}"),
    "every": ("every {length}", "每 {length}"),
    "data_waits": ("a late start waits for it, too", "补跑也要等数据就绪"),
    "data_ignored": ("a late start does not wait for it", "补跑不等数据"),
    "retry_never": ("never", "不重试"),
    "retry_times": (
        "{max} times after {waits} + up to {jitter}, then a person",
        "最多 {max} 次，间隔 {waits}，另加至多 {jitter}；之后转人工",
    ),
    "lost_takeover": ("another worker takes over, at most {max} times", "由其他 worker 接管，最多 {max} 次"),
    "lost_wait": ("wait for it until the timeout, then a person", "等到时限为止，之后转人工"),
    "lost_manual": ("ask a person", "转人工"),
    "rollback_hold": ("hold what may have run, for a person", "可能跑过的先扣住，等人放行"),
    "rollback_run": ("run it again: a repeat does no harm", "再跑一遍：重复无害"),
    "lock_shown": ("{name} at {at}, ttl {ttl}; {busy}", "{name}（{at}），ttl {ttl}；{busy}"),
    "lock_named": ("{name}, ttl {ttl}; {busy}", "{name}，ttl {ttl}；{busy}"),
    "lock_skip": ("skip: a round whose lock is taken is skipped", "skip：锁被占用时跳过本轮"),
    "lock_wait": ("wait: asked again until it is free", "wait：反复询问直到空闲"),
    "overlap_skip": ("skip: not while another round is in progress", "skip：上一轮未完则跳过"),
    "overlap_queue_all": (
        "queue_all: one at a time, the others wait, oldest first",
        "queue_all：逐个运行，其余按先后等待",
    ),
    "overlap_allow": ("allow: any number at once", "allow：可同时运行多个"),
    "scope_cluster": ("once in all workers together", "所有 worker 合计一次"),
    "scope_each_worker": ("on each worker", "每个 worker 各一次"),
    "isolation_process": ("a process of its own", "独立进程"),
    "isolation_command": ("a process group of its own", "独立进程组"),
    "isolation_none": ("none (coroutine or thread)", "无（协程或线程）"),
    "by_name": ("the function of that name", "同名函数"),
    "none": ("none", "无"),
    "source_code": ("code", "代码"),
    "source_file": ("a rules file", "规则文件"),
    "source_task_rules": ("TASK_RULES", "TASK_RULES"),
    "no_more_since": ("no more: ended {at} by {actor}: {reason}", "不再生效：已由 {actor} 于 {at} 终止：{reason}"),
    "since": ("since {at}", "自 {at} 起"),
    "able": ("{able} of {awake} awake run it", "在线 {awake} 个，其中 {able} 个可运行"),
    "paused_since": ("since {at}: {reason}", "自 {at} 起：{reason}"),
    "paused_only": ("yes: {reason}", "是：{reason}"),
}


def say(key: str, lang: str, /, **args: object) -> Told:
    """Return a text of ``SHOWN`` in ``lang`` ("zh", else English), filled in."""
    return told(SHOWN[key][lang == "zh"], **args)
