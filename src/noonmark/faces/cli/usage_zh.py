"""What click says about a line it cannot read, in Chinese.

Rule of the file: a text that is not known comes back as it is; names, options and values are never touched.
"""

from __future__ import annotations

import re

_WHAT = r"((?:'[^']*'|\S+)(?: / '[^']*')*(?: \(env var: '[^']*'\))?)"
"""An argument or an option as click names it, with the variable that it may come from."""
_USAGE: tuple[tuple[str, str], ...] = (
    (r"Missing argument (.+)\. Choose from: (.+)", r"缺少参数 \1。可选：\2"),
    (r"Missing option (.+)\. Choose from: (.+)", r"缺少选项 \1。可选：\2"),
    (r"Missing argument (.+)\.", r"缺少参数 \1。"),
    (r"Missing option (.+)\.", r"缺少选项 \1。"),
    (r"Missing parameter: (.+)", r"缺少参数 \1。"),
    (r"No such option:? (\S+?)\.? \(?Did you mean (?:one of: )?(.+)\?\)?", r"没有选项 \1。是否想写 \2？"),
    (r"No such option:? (\S+?)\.? \(Possible options: (.+)\)", r"没有选项 \1。相近的有：\2"),
    (r"No such option:? (\S+?)\.?", r"没有选项 \1。"),
    (r"There is no command (.+)\. Did you mean (.+)\?", r"没有命令 \1。是否想写 \2？"),
    (r"There is no command (.+)\.", r"没有命令 \1。"),
    (r"Missing command\.", "缺少命令。"),
    (r"Got unexpected extra arguments? \((.+)\)", r"多余的参数：\1"),
    (r"Option (.+) requires an argument\.", r"选项 \1 需要一个值。"),
    (r"Option (.+) requires (\d+) arguments\.", r"选项 \1 需要 \2 个值。"),
    (r"Option (.+) does not take a value\.", r"选项 \1 不带值。"),
    (rf"Invalid value for {_WHAT}: (.+) is not in the range (.+)\.", r"\1 的值不可用：\2 不在范围 \3 内。"),
    (
        rf"Invalid value for {_WHAT}: (.+) is not a valid (?:integer|float)(?: range)?\.",
        r"\1 的值不可用：\2 不是数字。",
    ),
    (rf"Invalid value for {_WHAT}: (.+) is not one of (.+)\.", r"\1 的值不可用：\2 不在 \3 之中。"),
    (rf"Invalid value for {_WHAT}: ('[^']*') is not ('[^']*')\.", r"\1 的值不可用：\2 不是 \3。"),
    (rf"Invalid value for {_WHAT}: Directory (.+) is a file\.", r"\1 的值不可用：\2 是文件，不是目录。"),
    (rf"Invalid value for {_WHAT}: (.+)", r"\1 的值不可用：\2"),
)


def in_chinese(text: str) -> str:
    """Return a usage mistake in Chinese."""
    for pattern, chinese in _USAGE:
        match = re.fullmatch(pattern, " ".join(text.split()), re.DOTALL)
        if match is not None:
            return re.sub(r" \(env var: ('[^']*')\) ?", r"（环境变量 \1）", match.expand(chinese), count=1)
    return text
