"""What is said about keys, templates and stored values, in Chinese; a part of ``errors_zh.py``.

Rule of the file: the patterns follow the English texts where they are raised (``core/keys.py``, ``core/params.py``,
``core/templates.py``, ``core/codec.py``, ``wiring.py``), which a test holds.
"""

from __future__ import annotations

RULE_ERRORS: tuple[tuple[str, str], ...] = (
    # keys
    (
        (
            r'key (".*") has no time part: the second moment would be a duplicate of the first for ever; '
            r"add (\{.*\}) or (\{.*\})"
        ),
        r"键 \1 没有时间部分：第二个时刻会永远与第一个重复；请加上 \2 或 \3",
    ),
    (
        (
            r'key (".*") has no (\{.*\}), but the job runs for each (.+): '
            r"(\d+) of (\d+) would be refused as duplicates; add (\{.*\})"
        ),
        r"键 \1 没有 \2，而任务按每个 \3 运行：\5 个中有 \4 个会被当成重复；请加上 \6",
    ),
    (
        r'key (".*") has no (\{.*\}), but the job runs on each worker: all but one would be refused as duplicates; add .*',
        r"键 \1 没有 \2，而任务在每个 worker 上运行：只有一个不会被当成重复；请加上 \2",
    ),
    (
        r'key (".*") is empty, for the job has no each: the same thing would be done twice',
        r"键 \1 是空的，因为任务没有 each：同一件事会做两次",
    ),
    (
        r'key (".*") is empty, for (.+) (?:is|are) empty: the same thing would be done twice',
        r"键 \1 是空的，因为 \2 为空：同一件事会做两次",
    ),
    (
        r'template (".*") gives nothing, for the job has no each; write some text beside it',
        r"模板 \1 的结果为空，因为任务没有 each；请在旁边写些文字",
    ),
    (
        r'template (".*") gives nothing, for (.+) (?:is|are) empty; write some text beside it',
        r"模板 \1 的结果为空，因为 \2 为空；请在旁边写些文字",
    ),
    (
        r"(\S+) is empty, so the same thing would be done twice; give one, or leave \S+ out",
        r"\1 是空的，同一件事会做两次；请给一个，或省去 \1",
    ),
    (r"(\S+) (.*) is no UTF-8 text: (.*); decode it properly first", r"\1 \2 不是 UTF-8 文本（\3）；请先正确解码"),
    # templates
    (
        r'template (".*") uses (\{.*\}), which nothing binds; did you mean (\{.*\})\?',
        r"模板 \1 用了 \2，但没有任何东西提供它；是否想写 \3？",
    ),
    (
        r'template (".*") uses (\{.*\}), which nothing binds; known here: (.*)',
        r"模板 \1 用了 \2，但没有任何东西提供它；此处可用：\3",
    ),
    (r"Single '(.)' encountered in format string", r"有一个单独的 “\1”"),
    (r"expected '\}' before end of string", "缺少 “}”"),
    (r"unmatched '\{' in format spec", "格式中有不成对的 “{”"),
    (r"unexpected '\{' in field name", "名字中有 “{”"),
    (r"(\{.*\}) must be a date or an instant, not (.+)", r"\1 必须是日期或时刻，不能是 \2"),
    (r'(".*") of (\{.*\}) is no date, so it takes no format', r"\2 的值 \1 不是日期，因此不能带格式"),
    (
        r"(\{.*\}) is a (.+), which cannot stand in a key; pass text or a number",
        r"\1 是 \2，不能放进键；请传文本或数字",
    ),
    # values
    (r"every start would be too late; missed: skip runs nothing late", "每次启动都会算太晚；不想补跑请用 missed: skip"),
    (r"Input should be (?:less|greater) than(?: or equal to)? (-?[\d.]+)", r"界限是 \1"),
    (r"Input should be a finite number", "应为有限的数"),
    (r"String should have at least (\d+) characters?", r"文本至少要有 \1 个字符"),
    (r"Out of range float values are not JSON compliant.*", "JSON 中没有无穷大和 nan"),
    (r"Invalid isoformat string: (.+)", r"不是 ISO 时间：\1"),
    (r"day is out of range for month", "该月没有这一天"),
    (r"(hour|minute|second|month) must be in (\d+)\.\.(\d+)", r"\1 应在 \2 到 \3 之间"),
    (
        r'catch_up\.missed "(.*)" is unknown; write skip, latest or all',
        r"未知的 catch_up.missed “\1”；请写 skip、latest 或 all",
    ),
    (
        r"(.+): a (\w+) is not JSON; use text, numbers, true/false, lists or objects",
        r"\1：\2 不是 JSON；请用文本、数字、true/false、列表或对象",
    ),
    (r"(.+): the name (.+) is not text, which JSON needs", r"\1：名字 \2 不是文本，而 JSON 要求文本"),
    (r"(.+): (nan|inf|-inf) is not JSON", r"\1：\2 不是 JSON"),
    (r"every needs a period longer than nothing, not (.+) microseconds", r"every 的间隔必须大于零，不能是 \1 微秒"),
    (
        r"job (.+): two subjects are both called (.+); values of each with a comma are ambiguous here",
        r"任务 \1：有两个对象都叫 \2；each 的取值中带逗号会产生歧义",
    ),
    (r"it has no time of day", "没有具体时间"),
    (r"it is neither a text nor a datetime", "它既不是文本也不是 datetime"),
    (r"the zone goes into its own field, tz: (.+)", r"时区写在单独的字段里，tz: \1"),
    (r"the text has half a sign \(a lone surrogate\)", "文本中有半个字符（单独的代理码位）"),
    (r"it is renewed three times a ttl", "每个 ttl 内续期三次"),
    (r'(".*") is no list of text', r"\1 不是文本列表"),
    # stores
    (r"(\w+) must be one of (.+), not (.+)", r"\1 必须是 \2 之一，不能是 \3"),
    (
        r"nothing can be copied into this memory store: it holds records already\. Take a new one\.",
        "不能复制到这个内存存储：它已有记录。请换一个新的。",
    ),
    (
        r"this memory store holds a copy of another store \((.+)\)\. Take a new one\.",
        r"这个内存存储是另一个存储（\1）的副本。请换一个新的。",
    ),
    (r'redis has no option (".*"); did you mean (\S+)\? known: (.+)', r"redis 没有选项 \1；是否想写 \2？可用：\3"),
    (r'redis has no option (".*"); known: (.+)', r"redis 没有选项 \1；可用：\2"),
    (r"noonmark\.testing\.conformance tries every promise\.", "noonmark.testing.conformance 会逐项检验。"),
    (r"noonmark store copy FROM TO --go", "noonmark store copy 源 目标 --go"),
    (r"(\S+) names no trial's namespace", r"\1 不是演示的命名空间"),
    # the demo's documents
    (
        r"no default corpus: noonmark was installed without its documentation\. Name a folder: (.+)",
        r"没有默认文档：noonmark 安装时未带文档。请指定目录：\1",
    ),
)
"""English pattern -> Chinese."""
