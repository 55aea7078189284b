"""What a store in a file says of one that was put back or taken away under it, in Chinese; a part of ``errors_zh.py``.

Rule of the file: the patterns follow the English texts in ``stores/sqlite`` (``pair``, ``openfile``, ``caller``,
``looking``), which a test holds.
"""

from __future__ import annotations

FILE_ERRORS: tuple[tuple[str, str], ...] = (
    (
        r"another file was put in its place, and the log of the file that lay there before is still beside it \((.+)\); .+",
        r"该位置换成了另一个文件，而原来那个文件的日志还在旁边（\1）；它会被重放到这个文件上并损坏它",
    ),
    (
        r"Stop every process that uses the store, then move this away: (.+)",
        r"停止所有使用该存储的进程，然后把它移走：\1",
    ),
    (
        r"the file was taken away while it was open, so nothing is written any more",
        "文件在打开期间被移走，因此不再写入",
    ),
    (r"Put it back, or stop the processes that have it open\.", "把它放回原处，或停止打开它的进程。"),
    (
        r"its log \((.+)\) was taken away while it was open, so nothing is written any more",
        r"它的日志（\1）在打开期间被移走，因此不再写入",
    ),
    (
        r"Stop the processes that have it open: the last one to end puts what the log held into the file\.",
        "停止打开它的进程：最后一个结束的进程会把日志的内容写入文件。",
    ),
    (
        r"the file was replaced or taken away while a change was under way; nothing of the change was kept",
        "改动进行期间文件被替换或移走；这次改动没有保存",
    ),
    (r"it is busy in this process", "本进程正忙于使用它"),
    (r"Repeat it\.", "请重试。"),
    (
        r"somebody began to write it while it was looked at without a lock, since this user may only read it",
        "查看期间有人开始写入，而本用户只能读，查看时没有加锁",
    ),
    (
        r"it was written by an older noonmark \(schema (.+), this one has (.+)\), and this user may not change it",
        r"它由较旧的 noonmark 写成（结构版本 \1，本版本为 \2），而本用户不能更改它",
    ),
    (r"Bring it up to date as a user who may: (.+)", r"请以有权限的用户更新：\1"),
    (
        (
            r"this user may only read it, and its log \((.+)\) holds changes that cannot be read without an index "
            r"beside it, which this user may not make"
        ),
        r"本用户只能读它，而它的日志（\1）里有改动，没有旁边的索引就读不到，本用户又不能建立索引",
    ),
    (
        r"Give this user the right to write both, or copy them to a folder of your own: (.+)",
        r"给当前用户两者的写权限，或把它们复制到自己的目录：\1",
    ),
    (
        r"another file was put in its place, and your connection may be to the one that lay there before",
        "该位置换成了另一个文件，而你的连接可能还连着原来那个",
    ),
    (r"Open your connection anew, then repeat\.", "重新打开你的连接，然后重试。"),
)
