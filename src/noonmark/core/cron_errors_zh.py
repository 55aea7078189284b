"""What is said about cron expressions, refusals and warnings, in Chinese; a part of ``errors_zh.py``.

Rule of the file: the patterns follow the English texts where they are raised (``core/cron.py``, ``core/cronfields.py``,
``core/crondialects.py``, ``core/cronreading.py``), which a test holds.
"""

from __future__ import annotations

CRON_ERRORS: tuple[tuple[str, str], ...] = (
    (r"write L for the last day of a month", "每月最后一天请写 L"),
    (r"for a longer interval use every:", "更长的间隔请用 every:"),
    (
        (
            r"cron (.+): no year has such a day \(day (.+) in month (.+)\), so it never occurs; "
            r"write L for the last day of a month"
        ),
        r"cron \1：没有哪一年有这样的日子（\3 月 \2 日），永远不会到期；每月最后一天请写 L",
    ),
    (r"cron (.+) is no text; quote it, for example (.+)", r"cron \1 不是文本；请加引号，例如 \2"),
    (
        r"cron (.+) is longer than (\d+) characters; split it into several jobs",
        r"cron \1 超过 \2 个字符；请拆成几个任务",
    ),
    (
        r"cron (.+) holds a line break or a character that cron does not know; retype it in plain ASCII",
        r"cron \1 含换行或 cron 不认识的字符；请用纯 ASCII 重新输入",
    ),
    (
        r"cron (.+): an interval is no cron; write every: with a length, for example 5m",
        r"cron \1：间隔不是 cron；请用 every: 写出时长，例如 5m",
    ),
    (
        r"cron (.+): an interval is no cron; write every: (\S+) with anchor: (.+)",
        r"cron \1：间隔不是 cron；请写 every: \2 和 anchor: \3",
    ),
    (
        r"cron (.+) holds (\d+) schedules; write one rule for each, under names of their own",
        r"cron \1 含 \2 个周期；请各写一条规则，名称各自不同",
    ),
    (
        r"cron (.+) is a call; write the expression itself, for example (.+), or every: 5m",
        r"cron \1 是一次调用；请直接写表达式，例如 \2，或 every: 5m",
    ),
    (r"cron (.+) cannot be read: write (.+) alone", r"cron \1 无法读取：请只写 \2"),
    (r"cron (.+) is unknown; write (.+), with the day that is meant", r"未知的 cron \1；请写 \2，并换成需要的日子"),
    (r"cron (.+): an interval is no cron; write every: (.+)", r"cron \1：间隔不是 cron；请写 every: \2"),
    (r"cron (.+) is unknown; known are (.+)", r"未知的 cron \1；可用的是 \2"),
    (r"cron (.+): the zone goes into its own field, tz: (.+)", r"cron \1：时区写在单独的字段里，tz: \2"),
    (
        r"cron (.+) has 7 fields; a year is not supported, list single moments with at: instead",
        r"cron \1 有 7 个字段；不支持年份，请用 at: 列出各个时刻",
    ),
    (
        r"cron (.+) has 7 fields; a year is not supported, write (.+) \(the second first\)",
        r"cron \1 有 7 个字段；不支持年份，请写 \2（秒在最前）",
    ),
    (
        r"cron (.+) has (\d+) fields; write the five of the schedule here, a command as command:, a comment as reason:",
        r"cron \1 有 \2 个字段；这里只写五个时间字段，命令写在 command:，注释写在 reason:",
    ),
    # other schedulers' forms
    (
        r"cron (.+): six fields are read with the second first, but these look like minute hour .* year; write (.+)",
        r"cron \1：六个字段按秒在最前读取，而这像是 分 时 日 月 周 年；请写 \2",
    ),
    (
        r"(.+) \(a year is not supported; list single moments with at: instead\)",
        r"\1（不支持年份；请用 at: 列出各个时刻）",
    ),
    (
        r"cron (.+) is another scheduler's form, and not right there either: it wants minute hour .*",
        r"cron \1 是别的调度器的写法，在那里也不对：应为 分 时 日 月 周 年，且两个日期字段之一写 ?",
    ),
    (r"cron (.+) is another scheduler's form; write (.+)", r"cron \1 是别的调度器的写法；请写 \2"),
    (r"cron (.+) is a single moment; write at: (.+)", r"cron \1 是单个时刻；请写 at: \2"),
    (
        r"cron (.+) names no moment: where several workers start at several times .*",
        (
            r"cron \1 不是时刻：多个 worker 先后启动，无法说清算哪一次；请在程序启动处直接调用该函数，"
            r"或写 manual: true 并在那里请求运行"
        ),
    ),
    (
        r"cron (.+) is no schedule; write at: for a single moment, or manual: true for a job that is asked for",
        r"cron \1 不是周期；单个时刻请写 at:，由人或程序发起请写 manual: true",
    ),
    (r"cron (.+) is unknown; write (.+), with the hour that is meant", r"未知的 cron \1；请写 \2，并换成需要的钟点"),
    (r"cron (.+) is unknown; write (.+)", r"未知的 cron \1；请写 \2"),
    (
        r"cron (.+) ends in a comment; write (.+), and the comment as reason:",
        r"cron \1 末尾是注释；请写 \2，注释写在 reason:",
    ),
    (
        r"cron (.+) is a line of a crontab; write cron: (.+), and the command as command:",
        r"cron \1 是 crontab 的一行；请写 cron: \2，命令写在 command:",
    ),
    (
        (
            r"cron (.+): with \? and six fields the weekday (.+) may be Quartz's, where 1 is Sunday \((.+)\), "
            r"or cron's, where 1 is Monday \((.+)\); write the names"
        ),
        r"cron \1：六个字段且带 ? 时，星期 \2 可能是 Quartz 的（1 是周日，即 \3），或 cron 的（1 是周一，即 \4）；请写名称",
    ),
    (
        r"cron field (.+): write 0 instead of 24, which is midnight of the next day",
        r"cron 字段 \1：请用 0 代替 24，后者是次日零点",
    ),
    (
        r"cron field (.+): write SAT instead of L, or 6L for the last Saturday of the month",
        r"cron 字段 \1：请用 SAT 代替 L；每月最后一个周六写 6L",
    ),
    (
        r"cron field (.+): (.+) lets the scheduler choose; write a number of your own, for example (\d+)",
        r"cron 字段 \1：\2 是让调度器自选；请自己写一个数，例如 \3",
    ),
    (
        r"cron field (.+): (.+) is a random number; write one of your own, for example (\d+)",
        r"cron 字段 \1：\2 是随机数；请自己写一个数，例如 \3",
    ),
    (
        r"cron field (.+): (.+) \(days before the last\) is not supported; write L, LW or the days",
        r"cron 字段 \1：不支持 \2（最后一天之前第几天）；请写 L、LW 或具体日期",
    ),
    (
        r"cron field (.+): (.+) has a step, but there is one last day; write L",
        r"cron 字段 \1：\2 带步长，但最后一天只有一天；请写 L",
    ),
    (
        r"cron (.+) has (\d+) fields?, but 5 are needed: minute hour .*",
        r"cron \1 有 \2 个字段，需要 5 个：分 时 日 月 周（或 6 个，秒在最前）",
    ),
    (r"cron field (.+): write (.+) instead of (.+)", r"cron 字段 \1：请用 \2 代替 \3"),
    (
        r"cron field (.+): (.+) \(nearest weekday\) is not supported; write LW, or use a weekday",
        r"cron 字段 \1：不支持 \2（最近的工作日）；请写 LW，或用星期",
    ),
    (
        r"cron field (.+): the step in (.+) is above (\d+), so it would run once each (.+); (.+)",
        r"cron 字段 \1：\2 的步长超过 \3，等于每轮只跑一次；\5",
    ),
    (r"cron field (.+): (.+) runs backwards; write (.+)", r"cron 字段 \1：\2 是倒着的；请写 \3"),
    (r"cron (.+): day (.+) never occurs in month (.+); (.+)", r"cron \1：\3 月从来没有 \2 日；\4"),
    (
        r'cron (.+): the (\S+) field (".*") cannot be read; allowed are (.+?)(?:, names)?, lists, ranges and steps',
        r"cron \1：字段 \2 \3 无法读取；允许 \4、列表、范围和步长",
    ),
    (r"cron (.+) cannot be read: (.+)", r"cron \1 无法读取：\2"),
    # warnings
    (
        r"(.+) in the (.+) field is not every (\d+) .+: it begins anew each .+; use every: for that",
        r"\2 字段的 \1 不是每隔 \3：每一轮重新开始；这种间隔请用 every:",
    ),
    (
        r"(.+) in the (.+) field is not every (\d+) .+: it begins anew each .+; use a list for that",
        r"\2 字段的 \1 不是每隔 \3：每一轮重新开始；请逐个列出",
    ),
    (
        r"(.+) in the day-of-week field goes on to 7, which is Sunday; write the days by name",
        r"星期字段的 \1 一直数到 7，即周日；请写星期的名称",
    ),
    (
        r"the step in (.+) is longer than its range, so only (.+) is left of it",
        r"\1 的步长超过其范围，只剩下 \2",
    ),
    (
        r"both day fields are set: it runs on day-of-month (.+) OR on day-of-week (.+), as cron does",
        r"日和星期都写了：按 cron 的规矩，每月 \1 日“或”星期 \2 都会运行",
    ),
    (
        r"(.+) begins with \*, so it runs only on days that (.+) names as well \(AND\), as cron does",
        r"\1 以 * 开头：按 cron 的规矩，只有同时符合 \2 的日子才运行（“且”）",
    ),
    (
        r"day (.+) does not exist in (.+): no run in that month; write L for the last day of every month",
        r"\2 没有 \1 日，当月不会运行；每月最后一天请写 L",
    ),
    (
        r"day (.+) of February comes in leap years only; write L for the last day of every month",
        r"2 月 \1 日只在闰年有；每月最后一天请写 L",
    ),
    (
        r"the minute field is \*, so it runs in every minute of hour (.+); write 0 there for once an hour",
        r"分钟字段是 *，因此在 \1 点的每一分钟都运行；每小时一次请写 0",
    ),
    (
        (
            r"six fields are read with the second first: second (.+), minute (.+), hour (.+), day (.+), month (.+), "
            r"weekday (.+)"
        ),
        r"六个字段按秒在最前读取：秒 \1、分 \2、时 \3、日 \4、月 \5、星期 \6",
    ),
    (
        (
            r"it follows real time because of the \*, and on (.+) all its times fall into the hour that (.+) leaves out: "
            r"no run on that date; write fixed minutes \(0,30\) to run at the end of the gap"
        ),
        (
            r"因为写了 *，它跟随实际时间；\1 的所有时刻都落在 \2 被跳过的那一小时里，当天不会运行；"
            r"写成固定分钟（0,30）即可在跳过之后运行"
        ),
    ),
)
"""English pattern -> Chinese."""
