"""The table of limits in security.md, in both languages, from the constants that the code refuses by.

Rule of the file: every number of the table is a constant's; a test holds that none of ``core/model/base.py`` is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

HEADS = {"en": "| what | at most |", "zh": "| 什么 | 至多 |"}
ROWS: tuple[tuple[str, str, str, str], ...] = (
    ("key", "{key} characters", "键", "{key} 个字符"),
    ("name of a flag", "{key} characters", "标志名", "{key} 个字符"),
    (
        "names: job, subject, event name and id, step, actor, worker, host",
        "{name} characters (the rules file allows {rules_name} for a job)",
        "名字：任务、subject、事件名和编号、步骤、操作者、worker、主机",
        "{name} 个字符（规则文件里任务名 {rules_name}）",
    ),
    (
        "name that a person gives a worker",
        "{worker_name} printable characters",
        "人给 worker 起的名字",
        "{worker_name} 个可显示的字符",
    ),
    ("request id", "{request} characters", "请求编号", "{request} 个字符"),
    (
        (
            "a name, and what is found by an index together: job, subject and identity (or business date) of a row, kind "
            "and name of a step"
        ),
        "{index} bytes of UTF-8",
        "一个名字，以及由索引一起查找的：行的任务、subject 和标识（或业务日期），步骤的种类和名字",
        "{index} 字节 UTF-8",
    ),
    (
        (
            "what the engine makes of such names: the fact of a success, a slot, a lock, job and kind of an alert, what is "
            "waited for"
        ),
        "{fact} bytes of UTF-8, so that whatever row is accepted can end and be waited for",
        "引擎由这些名字组成的：成功的事实、槽位、锁、告警的任务和种类、所等待的",
        "{fact} 字节 UTF-8，因此凡被接受的行都能结束，也能被等待",
    ),
    ("note, reason", "{note} characters", "备注、原因", "{note} 个字符"),
    (
        "params, result, value of a flag or step, detail of a reason",
        "{payload_kib} KiB of JSON each; params of one call together {call_mi} Mi characters",
        "params、结果、标志或步骤的值、原因的细节",
        "各 {payload_kib} KiB JSON；一次调用的 params 合计 {call_mi} Mi 字符",
    ),
    (
        "error",
        "{error} characters; a worker keeps the last {worker_error}",
        "错误",
        "{error} 个字符；worker 只留最后 {worker_error}",
    ),
    ("stored rule", "{rule_mi} Mi characters", "存储里的规则", "{rule_mi} Mi 字符"),
    (
        "rows, outcomes, leases, alerts, flags or rules in one call",
        "{count}",
        "一次调用的行、结果、租约、告警、标志或规则",
        "{count}",
    ),
    (
        "jobs of one worker",
        "{jobs}",
        "一个 worker 的任务",
        "{jobs}",
    ),
    ("links and claims of a writer: each text", "{name} characters", "写入者的链环和声明：每个文本", "{name} 个字符"),
    (
        "a rules file; values and names in it; its nesting",
        "{file_mi} MiB; {values}; {depth}",
        "规则文件；其中的值和名字；嵌套",
        "{file_mi} MiB；{values}；{depth}",
    ),
    (
        "a line of a ledger that is imported; its outcomes",
        "{line} characters; {outcomes}",
        "导入的账本的一行；其结果数",
        "{line} 个字符；{outcomes}",
    ),
)
"""What and how much, in English and in Chinese."""
KIB, MIB = 1 << 10, 1 << 20


def numbers() -> Mapping[str, str]:
    """Return what stands in the braces of the rows, read from the code."""
    from noonmark.core.model import base
    from noonmark.engine import exports, runs
    from noonmark.rules import checks, source

    parts = {
        "payload_kib": (base.PAYLOAD_LIMIT, KIB),
        "call_mi": (base.CALL_LIMIT, MIB),
        "rule_mi": (base.RULE_LIMIT, MIB),
        "file_mi": (source.SIZE_LIMIT, MIB),
    }
    plain = {
        "key": base.KEY_LIMIT,
        "name": base.NAME_LIMIT,
        "rules_name": checks.NAME_LIMIT,
        "worker_name": base.WORKER_NAME_LIMIT,
        "request": base.REQUEST_LIMIT,
        "index": base.INDEX_LIMIT,
        "fact": base.FACT_LIMIT,
        "note": base.NOTE_LIMIT,
        "error": base.ERROR_LIMIT,
        "worker_error": runs.ERROR_LIMIT,
        "count": base.COUNT_LIMIT,
        "jobs": base.JOBS_LIMIT,
        "values": source.VALUE_LIMIT,
        "depth": source.DEPTH_LIMIT,
        "line": exports.LINE_LIMIT,
        "outcomes": exports.OUTCOMES_LIMIT,
    }
    return {name: f"{size / unit:,g}" for name, (size, unit) in parts.items()} | {
        name: f"{number:,}" for name, number in plain.items()
    }


def with_limits(text: str, lang: str) -> str:
    """Return security.md with the table between its two marks."""
    begin, end = "<!-- limits:begin -->", "<!-- limits:end -->"
    head, rest = text.split(begin)
    known = numbers()
    rows = [row[:2] if lang == "en" else row[2:] for row in ROWS]
    lines = [HEADS[lang], "|---|---|", *(f"| {what} | {most.format(**known)} |" for what, most in rows)]
    return head + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1]
