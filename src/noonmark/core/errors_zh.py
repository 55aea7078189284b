"""What core and the store complain about, in Chinese.

Promise: a text that is known here is told in Chinese, names and values untouched; any other comes back as it is.  Rule
of the file: the patterns follow the English texts where they are raised, which a test holds.
"""

from __future__ import annotations

import re
from functools import lru_cache

from noonmark.core.cron_errors_zh import CRON_ERRORS
from noonmark.core.file_errors_zh import FILE_ERRORS
from noonmark.core.library_errors_zh import LIBRARY_ERRORS
from noonmark.core.lock_errors_zh import LOCK_ERRORS
from noonmark.core.rule_errors_zh import RULE_ERRORS
from noonmark.core.run_errors_zh import RUN_ERRORS, of_a_process
from noonmark.core.server_errors_zh import SERVER_ERRORS

_HOW = r'write it like "90s", "5m", "1h30m", "2d" or "PT1H30M"'
_HOW_ZH = '请写成 "90s"、"5m"、"1h30m"、"2d" 或 "PT1H30M"'

_PLACE = re.compile(r"\\(\d)")

_ERRORS: tuple[tuple[str, str], ...] = (
    # a ledger that is read in
    (
        r"this is a SQLite file: a store itself, or a copy of one, and no ledger out of it",
        "这是 SQLite 文件：是存储本身或其副本，而不是从中导出的账本",
    ),
    (r"it begins with a byte order mark: an editor has saved it anew", "它以字节顺序标记开头：被编辑器重新保存过"),
    (r"this is no line of a ledger", "这不是账本的一行"),
    (r"this line is not as it was written, or one before it is missing", "这一行不是原样，或之前缺少一行"),
    (r"this line has more than (\d+) characters", r"这一行超过 \1 个字符"),
    (r"there are more than (\d+) outcomes", r"结果超过 \1 个"),
    (r"it does not begin as a ledger of this version does", "开头不是该版本的账本"),
    (r"the end is missing", "缺少结尾"),
    (r"something follows the end", "结尾之后还有内容"),
    (
        r'"(\w+)", "(\w+)" and "(\w+)" have more than (\d+) bytes together',
        r"\1、\2 和 \3 合计超过 \4 字节",
    ),
    (r'"(\w+)" is missing', r"缺少 \1"),
    (r'"(\w+)" is no text of (\d+) to (\d+) characters', r"\1 不是 \2 到 \3 个字符的文本"),
    (r'"(\w+)" is no whole number from (-?\d+) to (\d+)', r"\1 不是 \2 到 \3 的整数"),
    (r'"(\w+)" is none of (.+)', r"\1 不是其中之一：\2"),
    # durations
    (r"(.+) has no unit, so it could be seconds or minutes; " + _HOW, r"\1 没有单位，分不清是秒还是分钟；" + _HOW_ZH),
    (r"a duration is empty; " + _HOW, "时长为空；" + _HOW_ZH),
    (r"(.+) is negative; a duration runs forwards", r"\1 是负数；时长只能为正"),
    (r"(.+) microseconds are negative; a duration runs forwards", r"\1 微秒是负数；时长只能为正"),
    (
        r"(.+) has no unit, so is it seconds or minutes\? write (.+) or (.+)",
        r"\1 没有单位，是秒还是分钟？请写 \2 或 \3",
    ),
    (r"(.+) is no duration; " + _HOW, r"\1 不是时长；" + _HOW_ZH),
    (
        r"(.+) has units twice or out of order; write each once, large to small",
        r"\1 的单位重复或顺序不对；每个单位写一次，从大到小",
    ),
    (r"(.+) is finer than a microsecond; " + _HOW, r"\1 比一微秒还细；" + _HOW_ZH),
    (
        r'(.+): months and years have no fixed length; write days \("30d"\), or m for minutes',
        r'\1：月和年没有固定长度；请写天数（"30d"），分钟用 m',
    ),
    (
        r'(.+): months and years have no fixed length; write days, "P30D"',
        r'\1：月和年没有固定长度；请写天数，"P30D"',
    ),
    (r"(.+): the unit (.+) is unknown; write (.+)", r"\1：未知单位 \2；请写 \3"),
    (r"(.+): the unit (.+) is unknown; known are (.+)", r"\1：未知单位 \2；可用的是 \3"),
    (r"(.+) is no ISO 8601 duration; " + _HOW, r"\1 不是 ISO 8601 时长；" + _HOW_ZH),
    (r"(.+) is longer than a hundred years; " + _HOW, r"\1 超过一百年；" + _HOW_ZH),
    # lengths
    (r"(\d+) d", r"\1 天"),
    (r"(\d+) h", r"\1 小时"),
    (r"(\d+) min", r"\1 分钟"),
    (r"(\d+(?:\.\d)?) s", r"\1 秒"),
    (r"(\d+) ms", r"\1 毫秒"),
    (r"(\d+ d) (\d+ h)", r"\1 \2"),
    (r"(\d+ h) (\d+ min)", r"\1 \2"),
    (r"(\d+ min) (\d+ s)", r"\1 \2"),
    # times and zones
    (r"(.+) microseconds are outside the years 1 to 9999 in (.+)", r"\1 微秒在 \2 超出公元 1 至 9999 年"),
    (r"(.+) microseconds are outside the years 1 to 9999", r"\1 微秒超出公元 1 至 9999 年"),
    (
        r"(.+) has no time zone, so it names no instant; pass an aware datetime, for example with (.+)",
        r"\1 没有时区，无法确定是哪一刻；请传入带时区的 datetime，例如 \2",
    ),
    (
        r"(.+) is no moment; pass an aware datetime or a text such as (.+)",
        r"\1 不是时刻；请传入带时区的 datetime，或如 \2 的文本",
    ),
    (r"(.+) has a zone already; a local time has none", r"\1 已带时区；本地时间不应带"),
    (
        r"business_date (.+) is unknown; write same or previous_day",
        r"未知的 business_date \1；请写 same 或 previous_day",
    ),
    (r"the window (.+) does not open within a week of (.+)", r"时间窗 \1 在 \2 起一周内都不会开放"),
    (
        r"(.+) has no zone, so it names no instant; add Z, an offset or a tz",
        r"\1 没有时区，无法确定是哪一刻；请加上 Z、偏移或时区",
    ),
    (r"(.+) has no time of day; write it as (.+)", r"\1 没有具体时间；请写成 \2"),
    (r"(.+) is no ISO time \(.*\); write it like (.+)", r"\1 不是 ISO 时间；请写成 \2"),
    (
        r"local time (.+) is too near the end of the calendar \(years 1 to 9999\)",
        r"本地时间 \1 太接近日历尽头（公元 1 至 9999 年）",
    ),
    (
        r"the time zone is empty; write an IANA name such as Asia/Shanghai or UTC",
        "时区为空；请写 IANA 名称，如 Asia/Shanghai 或 UTC",
    ),
    (r"(.+) is no time zone; did you mean (.+)\?", r"\1 不是时区；是否想写 \2？"),
    (
        r"(.+) is no time zone; use an IANA name such as Asia/Shanghai, Europe/Berlin or UTC",
        r"\1 不是时区；请用 IANA 名称，如 Asia/Shanghai、Europe/Berlin 或 UTC",
    ),
    # limits of stores
    (r"the note or reason", "备注或原因"),
    (r"the key", "键"),
    (r"the actor", "操作者"),
    (r"the name of the (job|event|step)", r"\1 的名字"),
    (r"the rule", "规则"),
    (
        r"the name of the worker has (\d+) characters, more than (\d+); write less, or store it elsewhere",
        r"worker 的名字有 \1 个字符，超过 \2；请写短些",
    ),
    (
        r"the name of the worker has a sign that cannot be shown; use letters, digits and dashes",
        "worker 的名字含有无法显示的字符；请用字母、数字和连字符",
    ),
    (
        r"(.+) has (\d+) characters, more than (\d+); write less, or store it elsewhere",
        r"\1 有 \2 个字符，超过 \3；请写短些，或存到别处",
    ),
    (
        r"(.+): (\d+) bytes, more than (\d+); store it elsewhere and pass its id",
        r"\1：\2 字节，超过 \3；请存到别处，只传其编号",
    ),
    (
        r"(.+): (\d+) bytes, more than (\d+); write less, or store it elsewhere",
        r"\1：\2 字节，超过 \3；请写短些，或存到别处",
    ),
    (r"(\d+) (.+) are more than (\d+); use several calls", r"\2：\1 个，超过 \3；请分几次调用"),
    (
        r"the parameters of one call have (\d+) characters together, more than (\d+)",
        r"一次调用的参数共有 \1 个字符，超过 \2",
    ),
    # templates
    (
        r'template (".*") cannot be read: (.+); a brace as such is written \{\{ or \}\}',
        r"模板 \1 无法读取：\2；花括号本身写作 {{ 或 }}",
    ),
    (
        r'template (".*") gives a name of (\d+) bytes, more than (\d+); use an id or a digest of the long value',
        r"模板 \1 得到的名称有 \2 字节，超过 \3；请改用编号，或用长值的摘要",
    ),
    (
        r'template (".*") gives a name of (\d+) characters, more than (\d+); use an id or a digest of the long value',
        r"模板 \1 得到的名称有 \2 个字符，超过 \3；请改用编号，或用长值的摘要",
    ),
    (
        r'template (".*") gives no name for a lock here; write some text beside it',
        r"模板 \1 在这里得不到锁的名称；请在旁边写些文字",
    ),
    (r'template (".*"): conversions such as (\S+) are not allowed', r"模板 \1：不允许 \2 这样的转换"),
    (
        r'template (".*"): (\{.*\}) is not a name; allowed are (.+) and bare names of subject, params and event',
        r"模板 \1：\2 不是名字；可用 \3，以及 subject、params、event 中的名字",
    ),
    (r'template (".*"): only dates take a format, (\{.*\}) does not', r"模板 \1：只有日期能带格式，\2 不能"),
    (
        r'template (".*"): the format (".*") of (\{.*\}) is not understood; allowed are (.+)',
        r"模板 \1：看不懂 \3 的格式 \2；可用 \4",
    ),
    # store urls
    (
        r"(.+) is no store URL; write (.+) for a SQLite file of that name, or memory://",
        r"\1 不是存储 URL；若是同名 SQLite 文件请写 \2，或写 memory://",
    ),
    (r"there is no store (.+); did you mean (\S+)\? known: (.+)", r"没有 \1 这种存储；是否想写 \2？可用：\3"),
    (r"there is no store (.+); known: (.+)", r"没有 \1 这种存储；可用：\2"),
    (
        r'sqlite has no host (".*"); write (\S+) \(three slashes\) for a relative path, four slashes for an absolute one',
        r"sqlite 没有主机 \1；相对路径请写 \2（三个斜杠），绝对路径用四个斜杠",
    ),
    (
        r"the URL names no file; write (\S+), or memory:// for a store that ends with the process",
        r"URL 没有指明文件；请写 \1，或用 memory://（随进程结束）",
    ),
    (r"the path has a NUL character; write (\S+)", r"路径含 NUL 字符；请写 \1"),
    (r'sqlite has no option (".*"); known: (.+)', r"sqlite 没有选项 \1；可用：\2"),
    (
        r"synchronous=(.*) is not possible; use FULL .* or NORMAL .*",
        r"synchronous=\1 不可用；请用 FULL（断电不丢）或 NORMAL（进程崩溃不丢）",
    ),
    (
        r"driver=(.*) is not possible; use apsw, or sqlite3 \(Python's own\)",
        r"driver=\1 不可用；请用 apsw，或 sqlite3（Python 自带）",
    ),
    (
        r"the path has %-signs that spell no UTF-8; write % itself as %25",
        "路径中的 % 不是 UTF-8 编码；% 本身请写成 %25",
    ),
    (
        r"the URL has %-signs that spell no UTF-8; write % itself as %25",
        "URL 中的 % 不是 UTF-8 编码；% 本身请写成 %25",
    ),
    (
        r"a memory:// store has no name and no options: each one is its own; write memory:// or (\S+)",
        r"memory:// 存储没有名字也没有选项，每个各自独立；请写 memory:// 或 \1",
    ),
    (r"(\S+) needs the package (\S+); install it with: (.+)", r"\1 需要软件包 \2；安装：\3"),
    (r"(\S+) needs the package (\S+)", r"\1 需要软件包 \2"),
    (
        r"(\S+) is claimed by several packages \((.+)\); uninstall all but one",
        r"\1 被多个软件包占用（\2）；请只保留一个",
    ),
    (
        r"the store (\S+) of the package (\S+) cannot be used \((.+)\); mend, upgrade or uninstall that package",
        r"软件包 \2 的存储 \1 无法使用（\3）；请修复、升级或卸载该软件包",
    ),
    (
        r"the store (\S+) of the package (\S+) is no store: it lacks (.+?)\. Upgrade the package, or tell its makers: (.+)",
        r"软件包 \2 的存储 \1 不是存储：缺少 \3。请升级该软件包，或告知其作者：\4",
    ),
    (r"(.+) is no folder; choose another path", r"\1 不是目录；请换一个路径"),
    (r"there is no folder (.+); make it \((.+)\) or choose another path", r"没有目录 \1；请创建（\2）或换一个路径"),
    (
        r"(.+) cannot be made: (.+); choose another path with NOONMARK_URL",
        r"无法创建 \1：\2；请用 NOONMARK_URL 换一个路径",
    ),
    # stores
    (r"cannot use the store (.+?): (.+?)\. (.+)", r"无法使用存储 \1：\2。\3"),
    (r"the store (.+?) does not answer: (Error -?\d+ connecting to .+)", r"存储 \1 没有响应：\2"),
    (r"the store (.+?) does not answer: (.+?)\. (.+)", r"存储 \1 没有响应：\2。\3"),
    (r"the store (.+?) does not answer: (.+)", r"存储 \1 没有响应：\2"),
    (r"the store (.+) failed: (.+)", r"存储 \1 出错：\2"),
    (r"a copy into it is not finished", "复制到这里的过程尚未完成"),
    (r"Finish it: (.+)", r"请完成它：\1"),
    (
        r"nothing can be copied into it: it holds records already \((.+)\)",
        r"不能复制到这里：它已有记录（\1）",
    ),
    (r"it holds a copy of another store \((.+)\)", r"它是另一个存储（\1）的副本"),
    (
        r"Python's own SQLite is (.+), and (.+) or newer is needed",
        r"Python 自带的 SQLite 是 \1，需要 \2 或更新版本",
    ),
    (
        r"Leave driver=sqlite3 out of the URL, or use a newer Python\.",
        r"请从 URL 去掉 driver=sqlite3，或使用更新的 Python。",
    ),
    (r"Name a file that is not there yet\.", "请换一个还不存在的文件名。"),
    (r"another process holds the write lock for too long", "另一个进程占用写锁过久"),
    (
        r"Find out which process keeps the file busy \(a backup, an open sqlite3 shell\) and end it\.",
        "查明哪个进程占着文件（备份、打开的 sqlite3 命令行）并结束它。",
    ),
    (r"the file is not a SQLite database", "该文件不是 SQLite 数据库"),
    (r"Name another file, or move this one away\.", "换一个文件名，或把它移走。"),
    (r"the database is damaged \((.+)\)", r"数据库已损坏（\1）"),
    (r"Restore it from a backup; the damaged file is left untouched\.", "请从备份恢复；损坏的文件未作改动。"),
    (r"the file or its directory is read-only", "文件或其目录只读"),
    (r"Give this user the right to write both, or name another file\.", "给当前用户两者的写权限，或换一个文件。"),
    (
        r"the disk is full; nothing of the last change was kept, everything before it is intact",
        "磁盘已满；最后一次改动没有保存，之前的内容完好",
    ),
    (r"Free some space, then repeat\.", "腾出空间后重试。"),
    (
        r"this process has another boot-time clock than the others, and would move the store's time for all of them",
        "本进程的开机时钟与其他进程的不同，会把存储的时间永久带偏",
    ),
    (
        r"Run it without what gives it another clock \(libfaketime, a time namespace\), or name another store\.",
        "请去掉改变时钟的东西（libfaketime、时间命名空间）再运行，或换一个存储。",
    ),
    (r"the file cannot be opened \((.+)\)", r"无法打开文件（\1）"),
    (r"Check that its directory exists and that you may write it\.", "确认其目录存在且有写权限。"),
    (r"it was closed in this process", "它已在本进程中关闭"),
    (r"Open it again\.", "请重新打开。"),
    (r"reading or writing failed \((.+)\)", r"读写失败（\1）"),
    (r"Check the disk\.", "请检查磁盘。"),
    (r"it was opened before this process was forked", "它是在本进程 fork 之前打开的"),
    (r"Open the store again in the new process\.", "请在新进程中重新打开。"),
    (r"Upgrade noonmark on this machine, or name another file\.", "请升级本机的 noonmark，或换一个文件。"),
    (
        r"it was written by a newer noonmark \(schema (.+), this one knows (.+)\)",
        r"它由更新的 noonmark 写入（结构版本 \1，本版本只到 \2）",
    ),
    (r"its directory cannot be created \((.+)\)", r"无法创建其目录（\1）"),
    (r"Create it, or name another place\.", "请创建它，或换一个位置。"),
    (r"it is a directory", "它是一个目录"),
    (r"Name a file inside it, such as noonmark\.db\.", "请写出其中的文件，如 noonmark.db。"),
    (r"there is no noonmark in this file", "该文件中没有 noonmark"),
    (
        r"Looking makes none: name the right file, or begin here: noonmark dev APP, or a worker\.",
        "查看从不新建：请写对文件，或从这里开始：noonmark dev APP，或启动 worker。",
    ),
    (r"it is a database, but not one of noonmark's", "它是数据库，但不是 noonmark 的"),
    (r"Name another file\.", "请换一个文件。"),
    # limits of fields
    (r"from (\d+) to (\d+)", r"应在 \1 到 \2 之间"),
    (r"nothing could start", "什么都无法开始"),
    (r"every attempt would be stopped", "每次尝试都会被停止"),
    (r"it is renewed three times a lease", "每个租约期内续租三次"),
    (
        r"the name of the flag has (\d+) characters, more than (\d+); give it a shorter one",
        r"标志名有 \1 个字符，超过 \2 个；请取短一些",
    ),
    (r"the name of the flag has signs that cannot be shown: (.+)", r"标志名含有无法显示的字符：\1"),
    (
        r"(.+) cannot be stored as JSON \((.*)\); pass text, numbers, .+ or the id of something stored elsewhere",
        r"\1 无法存为 JSON（\2）；请传文本、数字、列表或字典，或传别处数据的编号",
    ),
    (
        r"(.+): (\d+) bytes, more than (\d+); store it elsewhere and pass its id",
        r"\1：\2 字节，超过 \3；请存到别处，只传编号",
    ),
    (r"too short", "太短"),
    (r"too long", "太长"),
    (r"it would keep the store busy", "会让存储一直忙碌"),
    (r"nested too deep", "嵌套太深"),
    (r'(".*") is no parameter name', r"\1 不是参数名"),
    (r'(".*") has no values', r"\1 没有取值"),
    (r'(".*") has a value twice', r"\1 有重复取值"),
    (r"(\d+) bytes, more than (\d+)", r"\1 字节，超过 \2"),
    (r"a flag needs a name, for example (.+)", r"标志需要名字，例如 \1"),
    (r"a condition on another job needs the job's name", "依赖另一个任务时需要写任务名"),
    (r"(.+) was due more than (\d+) times", r"\1 到期超过 \2 次"),
    (r"No such file or directory", "没有这个文件或目录"),
    (r"Permission denied", "权限不足"),
    (r"Is a directory", "是一个目录"),
    (r"Not a directory", "不是目录"),
)


@lru_cache(maxsize=1)
def _compiled() -> tuple[tuple[re.Pattern[str], str], ...]:
    known = (
        *RULE_ERRORS,
        *CRON_ERRORS,
        *_ERRORS,
        *SERVER_ERRORS,
        *LOCK_ERRORS,
        *FILE_ERRORS,
        *LIBRARY_ERRORS,
        *RUN_ERRORS,
    )
    return tuple((re.compile(pattern, re.DOTALL), chinese) for pattern, chinese in known)


def in_chinese(text: str) -> str:
    """Return a complaint of core or the store in Chinese; one that is not known comes back as it is."""
    ended = of_a_process(text)
    if ended is not None:
        return ended
    for pattern, chinese in _compiled():
        match = pattern.fullmatch(text)
        if match is not None:
            # A part may itself be a complaint: a store error says why and what to do.
            parts = [in_chinese(part or "") for part in match.groups()]
            return _PLACE.sub(lambda place, parts=parts: parts[int(place[1]) - 1], chinese)  # type: ignore[misc]
    return text
