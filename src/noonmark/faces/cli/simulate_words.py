"""What ``noonmark simulate`` says, in English and Chinese.  Rule of the file: only text."""

from __future__ import annotations

SIMULATE_WORDS: dict[str, tuple[str, str]] = {
    "simulate_header": (
        "JOB|DUE|ON TIME|LATE|WORST|SKIPPED|MISSED|FAILED|CANCELLED|OPEN",
        "任务|时刻数|准时|晚|最晚|跳过|漏跑|失败|取消|未完",
    ),
    "simulate_head": (
        "{days} from {start}, {replicas} workers, seed {seed}; faults: {faults}",
        "自 {start} 起 {days}，{replicas} 个 worker，种子 {seed}；故障：{faults}",
    ),
    "simulate_assumed": (
        ("Nothing of yours was called: each run waited {takes}, {fails} of the attempts failed, and data came {data}."),
        "没有调用你的代码：每次运行等待 {takes}，失败比例 {fails}，数据{data}。",
    ),
    "simulate_data_after": ("{length} after its moment", "在时刻之后 {length} 到达"),
    "simulate_data_at_once": ("at its moment", "在其时刻到达"),
    "simulate_data_never": ("never", "从未到达"),
    "simulate_no_faults": ("none", "无"),
    "simulate_bad": (
        "Needs a person or was missed (the first {count} of {all}):",
        "需要人工或漏跑（共 {all} 次，前 {count} 次）：",
    ),
    "simulate_kept": (
        "noonmark's own promises: nothing lost, nothing twice, nothing too early.",
        "noonmark 自身的承诺：未丢失、未重复、未提前。",
    ),
    "simulate_broken": (
        "{count} of noonmark's own promises were broken: this is our fault, please report it with this seed.",
        "noonmark 自身的承诺有 {count} 处被打破：这是我们的缺陷，请附上种子报告。",
    ),
    "simulate_idle": (
        "No job here has a schedule or an event: nothing would come by itself.",
        "这里没有带时间表或事件的任务：不会有任何触发自行到来。",
    ),
}
