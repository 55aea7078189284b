"""What ``noonmark simulate`` says, in English and Chinese.  Rule of the file: only text."""

from __future__ import annotations

from noonmark.faces.cli.demo_trouble_words import Words

SIMULATE_WORDS: dict[str, tuple[str, str]] = {
    "simulate_header": (
        "JOB|DUE|ON TIME|LATE|WORST|SKIPPED|MISSED|FAILED|CANCELLED|OPEN",
        "任务|时刻数|准时|晚|最晚|跳过|漏跑|失败|取消|未完",
    ),
    "simulate_head": (
        "{days} from {start}, {replicas}, seed {seed}; faults: {faults}",
        "自 {start} 起 {days}，{replicas}，种子 {seed}；故障：{faults}",
    ),
    "simulate_worker": ("1 worker", "1 个 worker"),
    "simulate_workers": ("{count} workers", "{count} 个 worker"),
    "simulate_assumed": (
        "Nothing of yours was called: each run waited {takes}, {fails} of the attempts failed, and {data}.",
        "没有调用你的代码：每次运行等待 {takes}，失败比例 {fails}，{data}。",
    ),
    "simulate_data_after": ("data came {length} after its moment", "数据在时刻之后 {length} 到达"),
    "simulate_data_at_once": ("data came at its moment", "数据在其时刻到达"),
    "simulate_data_never": ("data never came", "数据从未到达"),
    "simulate_events": (
        "Events came {count} a day for each job that waits for one, each with values of its own for what the rule names.",
        "每个等待事件的任务每天有 {count} 个事件，规则用到的字段取值各不相同。",
    ),
    "simulate_no_faults": ("none", "无"),
    "simulate_few_faults": (
        "none, for {a_day} a day of each kind make none in so short a time (--a-day)",
        "无，因为每类每天 {a_day} 次，在这么短的时间里一次也轮不到（可加大 --a-day）",
    ),
    "simulate_reasons": ("Why, by job and reason:", "按任务和原因列出："),
    "simulate_reasons_header": ("JOB|OUTCOME|TIMES|FIRST|WHY THE FIRST", "任务|结果|次数|首次|首次的原因"),
    "simulate_late": ("LATE", "晚"),
    "simulate_waited": ("{sentence} It waited for {facts}.", "{sentence}当时在等待{facts}。"),
    "simulate_again": ("The same future again: {command}", "重现同一未来：{command}"),
    "simulate_progress": (
        "{share} of {days} lived through, about {left} to go",
        "已经历 {days} 的 {share}，约还需 {left}",
    ),
    "simulate_kept": (
        "noonmark's own promises: nothing lost, nothing twice, nothing too early.",
        "noonmark 自身的承诺：未丢失、未重复、未提前。",
    ),
    "simulate_broken": (
        "noonmark's own promises were broken, {count} times: this is our fault, please report it with this seed.",
        "noonmark 自身的承诺有 {count} 处被打破：这是我们的缺陷，请附上种子报告。",
    ),
    "simulate_none_due": ("Nothing of it was due in that time.", "这段时间内没有任何到期的时刻。"),
    "simulate_idle": (
        "No job here has a schedule or an event: nothing would come by itself.",
        "这里没有带时间表或事件的任务：不会有任何触发自行到来。",
    ),
}

SIMULATE_TROUBLES: dict[str, tuple[Words, Words]] = {
    "no_such_fault": (
        ("There is no fault {name!r}.", "", "choose from none, all, {names}"),
        ("没有名为 {name!r} 的故障。", "", "可选：none、all、{names}"),
    ),
    "faults_none_named": (
        ("--faults {text!r} names no fault", "", "say none for none; else all, or some of {names}"),
        ("--faults {text!r} 没有写出任何故障", "", "不要故障请写 none；否则写 all，或从中选：{names}"),
    ),
    "faults_mixed": (
        ("--faults: {name} stands alone", "with others beside it, it says nothing", "{name}, or some of {names}"),
        ("--faults：{name} 只能单独使用", "与其他故障并列没有意义", "写 {name}，或从中选：{names}"),
    ),
    "nothing_to_simulate": (
        ("{app} declares no job", "", "add a job with a schedule or an event, then simulate again"),
        ("{app} 没有声明任何任务", "", "请先加入带时间表或事件的任务，再模拟"),
    ),
}
