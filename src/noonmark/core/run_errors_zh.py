"""What the engine itself writes as the error or the reason of a run, in Chinese; what a job or a person wrote stays.

Rule of the file: as in ``core/errors_zh.py``; nothing here may match what a person could have written.
"""

from __future__ import annotations

import re

IMPORTED = "imported: done as r"
"""How the reason begins that an import of a ledger gives."""

_TOLD = {
    "cancelled": "取消",
    "timed_out": "超时",
    "lost": "失去租约",
    "lock_lost": "失去外部锁",
    "handed_back": "停机归还",
}
"""Why a run was told to stop (``engine/roster.py``)."""

_PROCESS_ENDED = re.compile(r"(?:exit code (\d+)|killed by (?:(SIG\w+)|signal (\d+)))(?:: |(?=\n)|$)")
"""How the error of a process begins; behind it stands what the process itself said."""


def of_a_process(text: str) -> str | None:
    """Return the error of a process with its beginning in Chinese and what it said as it is; None for any other."""
    match = _PROCESS_ENDED.match(text)
    if match is None:
        return None
    code, name, number = match.groups()
    how = f"退出码 {code}" if code else f"被 {name} 终止" if name else f"被信号 {number} 终止"
    return f"{how}{'：' if match[0].endswith(': ') else ''}{text[match.end() :]}"


RUN_ERRORS: tuple[tuple[str, str], ...] = (
    *(
        (rf"it returned after it was told to stop \({word}\)", f"被要求停止（{chinese}）之后才返回")
        for word, chinese in _TOLD.items()
    ),
    *(
        (rf"did not stop when told to \({word}\)", f"被要求停止（{chinese}）却没有停下")
        for word, chinese in _TOLD.items()
    ),
    (r"timed out after ([\d.e+]+) s and did not stop when told to", r"运行 \1 秒后超时，被要求停止却没有停下"),
    (r"stopped before it began", "开始之前就被停止"),
    (r"the command ('.*'|\".*\") could not be started: (.+)", r"命令 \1 无法启动：\2"),
    (
        r"\[Errno (?:2|13|20|21)\] (No such file or directory|Permission denied|Not a directory|Is a directory): (.+)",
        r"\1：\2",
    ),
    (r"\[Errno 8\] Exec format error: (.+)", r"不是可执行的格式：\1"),
    (
        rf"{IMPORTED}(\d+) at fence (\d+), as the journal of (.+) of store (\w+) has it",
        r"导入：据存储 \4 的 \3 的日志，已作为 r\1（fence \2）完成",
    ),
    (
        rf"{IMPORTED}(\d+) at fence (\d+), as the ledger of store (\w+) has it",
        r"导入：据存储 \3 的账本，已作为 r\1（fence \2）完成",
    ),
)
