"""What ``noonmark --help`` says in Chinese: heading, commands, global options, and how their lines are broken.

Rule of the file: texts by the names of ``lazy.py`` and ``settings.py``; what one command says beneath its line stands in
``help_long_zh.py``.  Chinese has no spaces to break at and is two columns wide, so click's own wrapping does not fit it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from noonmark.faces.cli.help_long_zh import LONG
from noonmark.faces.cli.help_long_zh import OPTIONS as OF_COMMANDS

if TYPE_CHECKING:
    import click

__all__ = ["COMMANDS", "EPILOG", "HEADING", "LONG", "OPTIONS", "PIECES", "TITLES", "USAGE"]

HEADING = "面向 AI 智能体的调度器：准点，并且能证明。"
TITLES = {"Options": "选项", "Global options": "全局选项", "Commands": "命令"}
USAGE = "用法："
PIECES = {"[OPTIONS]": "[选项]", "COMMAND [ARGS]...": "命令 [参数]..."}
EPILOG = (
    "退出码：0 是，1 答案为否（verify 发现问题），2 用法错误，3 不会运行或因重复被拒绝，4 存储无法访问，"
    "5 未找到，130 被中断，141 输出无人读取。"
)
COMMANDS: dict[str, str] = {
    "init": "写出起步用的 noonmark.yaml 和 jobs.py。",
    "demo": "看它工作：三个 worker，杀掉一个，什么都不丢。",
    "dev": "运行一个 worker，文件一改就重启，并打印决定。",
    "worker": "为一个应用运行 worker，直到被要求停止。",
    "jobs": "列出任务：时间表、下一次、上一次结果、最近几次。",
    "show": "显示一个任务的规则，包括每个默认值。",
    "next": "显示接下来的时刻，本地时间和 UTC。",
    "why": "说明为什么运行、没运行、晚了或跑了两遍。",
    "history": "列出各次触发的结果。",
    "run": "现在就请求运行；同一个键已完成时会被拒绝。",
    "retry": "把需要人处理的触发再试一次。",
    "cancel": "取消一次触发，或取消某个键下所有未结束的。",
    "mark": "记录一次触发已完成、已处理或不再运行。",
    "pause": "暂停一个任务。",
    "resume": "恢复暂停的任务；过去的不会补跑。",
    "end": "终止一个任务：收回规则，保留历史。",
    "signal": "设置或清除一个标志，并唤醒等待它的触发。",
    "flags": "显示任务所依赖的标志。",
    "backlog": "显示到期或等待中的触发，以及被什么挡住。",
    "leases": "显示谁持有什么、到何时为止，哪些 worker 在线。",
    "verify": "证明没有丢失，也没有跑两遍。",
    "simulate": "带着故障把你的规则跑上几天，说明会漏掉什么。",
    "doctor": "检查存储、时钟、worker 和规则，说明该处理什么。",
    "ledger": "存储丢失数据之后：查看扣住的触发，取回结果，放行。",
    "store": "更新存储，或把命名空间复制到另一个存储。",
    "rules": "检查、显示或应用规则文件。",
    "schema": "打印规则文件的 JSON Schema。",
    "version": "打印所用的版本。",
}
OPTIONS: dict[str, str] = {
    "--url": "存储在哪里。",
    "--json": "打印 JSON：一个带版本号的对象，失败时也是。",
    "--lang": "句子的语言（环境变量：NOONMARK_LANG、LANG）。",
    "--tz": "读写时间所用的时区。",
    "--now": "假装现在是这个时间（只用于读取）。",
    "--no-color": "纯文本（也可用 NO_COLOR）。",
    "--yes": "不再询问。",
    "--quiet": "只要数据，不要说明。",
    "--verbose": "多说一些；显示 noonmark 自身故障的调用栈。",
    "--help": "显示这段说明并退出。",
}


_EXTRAS = (("env var: ", "环境变量："), ("default: ", "默认："), ("required", "必填"), ("; ", "；"))
"""What click adds to an option's help, in brackets."""
_PIECES = re.compile(r"[!-~]+[，。；：、）？！]* ?| |[^ -~][，。；：、）？！]*")
"""What stays in one line: a word of Latin letters, one Chinese character, each with the punctuation that follows."""


def option_help(names: list[str], english: str, command: str) -> str:
    """Return an option's help: Chinese where there is some, with the variables that click adds."""
    own = OF_COMMANDS.get(command, {})
    chinese = next((texts[name] for texts in (own, OPTIONS) for name in names if name in texts), None)
    if chinese is None:
        return english
    _, sign, extra = english.rpartition("  [")
    for each, told in _EXTRAS:
        extra = extra.replace(each, told)
    return chinese + sign + extra if sign else chinese


def write_paragraphs(formatter: click.HelpFormatter, text: str) -> None:
    """Write paragraphs, parted by a blank line, in lines that fit."""
    for paragraph in text.split("\n\n"):
        formatter.write_paragraph()
        for line in fitted(paragraph, formatter.width - formatter.current_indent):
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def write_options(formatter: click.HelpFormatter, rows: Sequence[tuple[str, str]], most: int = 30) -> None:
    """Write options beside their helps, in lines that fit."""
    first = min(max(len(names) for names, _ in rows), most) + 2
    for names, text in rows:
        formatter.write(f"{'':>{formatter.current_indent}}{names}")
        lines = fitted(text, max(formatter.width - formatter.current_indent - first, 10))
        here = len(names) <= first - 2
        formatter.write(" " * (first - len(names)) if here and lines else "\n")
        for number, line in enumerate(lines):
            formatter.write(f"{'' if here and not number else ' ' * (formatter.current_indent + first)}{line}\n")


def fitted(text: str, columns: int) -> list[str]:
    """Break a text into lines of so many columns, of which a Chinese character takes two."""
    lines, line, used = [], "", 0
    for piece in _PIECES.findall(text):
        size = sum(1 + (unicodedata.east_asian_width(sign) in "WF") for sign in piece.rstrip(" "))
        if used + size > columns and line:
            lines.append(line.rstrip(" "))
            line, used = "", 0
        line += piece
        used += size + len(piece) - len(piece.rstrip(" "))
    return [*lines, line.rstrip(" ")] if line else lines
