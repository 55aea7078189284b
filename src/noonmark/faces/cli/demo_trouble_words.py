"""What can go wrong with the demo, in English and Chinese: what is wrong, why, what to do.

Rule of the file: only text; it is a part of ``trouble_words.TROUBLES``.
"""

from __future__ import annotations

Words = tuple[str, str, str]

DEMO_TROUBLES: dict[str, tuple[Words, Words]] = {
    "demo_file": (
        ("{folder} is a file", "", "name a folder for the demo: --dir FOLDER"),
        ("{folder} 是一个文件", "", "请为演示指定一个目录：--dir 目录"),
    ),
    "demo_not_ours": (
        (
            "{folder} is not empty, and not from a demo",
            "the demo removes nothing that it did not write",
            "name another folder: --dir FOLDER",
        ),
        ("{folder} 不是空目录，也不是演示留下的", "演示不删除不是它写的东西", "请换一个目录：--dir 目录"),
    ),
    "demo_running": (
        (
            "a demo is playing in {folder}",
            "this one would delete its store",
            "wait for its end, or play elsewhere: --dir FOLDER, or --keep for the next free folder",
        ),
        (
            "{folder} 中正在进行一次演示",
            "再次演示会删除它的存储",
            "请等它结束，或换个地方：--dir 目录，或用 --keep 使用下一个空闲目录",
        ),
    ),
    "demo_away": (
        (
            "{error}",
            "the demo waited {seconds} s for it, as its workers do, and gave up",
            "mend the server, then play again",
        ),
        ("{error}", "演示像它的 worker 一样等了 {seconds} 秒，然后放弃了", "请修复服务器后重新演示"),
    ),
    "demo_worker_ended": (
        ("{worker} ended by itself (exit code {ended}); the end of its log:", "{last}", "the whole log: {path}"),
        ("{worker} 自行退出（退出码 {ended}）；它的日志结尾：", "{last}", "完整日志：{path}"),
    ),
    "demo_slow": (
        (
            "the workers did not start within {seconds} s",
            "their logs are in {folder}",
            "try again when the machine is less busy",
        ),
        ("worker 没有在 {seconds} 秒内启动", "它们的日志在 {folder}", "请在机器空闲时重试"),
    ),
    "demo_corpus": (
        (
            "the demo has no documents to work with",
            "{error}",
            "install noonmark again, or run the demo in a checkout: make demo",
        ),
        ("演示没有可用的文档", "{error}", "请重新安装 noonmark，或在源码目录运行：make demo"),
    ),
    "demo_no_trial": (
        (
            "{name} is no namespace of a demo",
            "only what a demo made is taken away",
            "write it as the demo did: --erase {example}",
        ),
        ("{name} 不是演示的命名空间", "只清除演示建立的内容", "请按演示的写法：--erase {example}"),
    ),
    "demo_url": (
        (
            "the demo cannot make a namespace of its own at {url}",
            "on a server it plays in a fresh schema (PostgreSQL) or namespace (Redis) and erases it at the end",
            "leave --url out, and --dir says where it writes its file",
        ),
        (
            "演示无法在 {url} 建立自己的命名空间",
            "在服务器上它使用新的 schema（PostgreSQL）或 namespace（Redis），结束时清除",
            "请去掉 --url，用 --dir 指定写文件的目录",
        ),
    ),
    "demo_no_folder": (
        ("cannot make the folder {folder}: {error}", "", "name another: --dir FOLDER"),
        ("无法创建目录 {folder}：{error}", "", "请换一个：--dir 目录"),
    ),
    "demo_no_app": (
        (
            "the demo's application, ResearchCopilot, is not in this installation",
            "",
            "install noonmark from its wheel, or run the demo in a checkout: make demo",
        ),
        (
            "演示用的应用 ResearchCopilot 不在本安装中",
            "",
            "请从 wheel 安装 noonmark，或在源码目录运行：make demo",
        ),
    ),
}
