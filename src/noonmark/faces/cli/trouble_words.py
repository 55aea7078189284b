"""Every trouble in English and Chinese: what is wrong, why, what to do.

Rule of the file: only text.  Both languages have the same names in braces, which a test holds; "" goes without saying.
"""

from __future__ import annotations

Words = tuple[str, str, str]

TROUBLES: dict[str, tuple[Words, Words]] = {
    "told": (("{what}", "{why}", "{do}"), ("{what}", "{why}", "{do}")),
    # -- the store
    "memory_store": (
        (
            "a memory:// store lives inside one process, so no command can look at it",
            "",
            "use sqlite:///PATH, with --url or NOONMARK_URL",
        ),
        ("memory:// 存储只活在一个进程里，命令看不到它", "", "请用 sqlite:///路径（--url 或 NOONMARK_URL）"),
    ),
    "no_store": (
        (
            "there is no store at {path}",
            "looking never creates one, and nothing says that this is the right place",
            (
                "go to your project's folder, or name the store: --url sqlite:///PATH\n"
                "to begin: noonmark dev APP starts a worker here, noonmark demo shows one"
            ),
        ),
        (
            "{path} 没有存储",
            "查看从不新建存储，也无法确认这里就是正确的位置",
            (
                "请到项目目录下执行，或指明存储：--url sqlite:///路径\n"
                "初次使用：noonmark dev APP 在此启动 worker，noonmark demo 看演示"
            ),
        ),
    ),
    "no_open": (
        ("cannot open the store {url}", "{error}", "name the store with --url or NOONMARK_URL"),
        ("无法打开存储 {url}", "{error}", "请用 --url 或 NOONMARK_URL 指明存储"),
    ),
    "store_unusable": (
        ("{error}", "", "or name another store with --url"),
        ("{error}", "", "或用 --url 指定另一个存储"),
    ),
    "store_away": (
        ("{error}", "", "try again, or name another store with --url"),
        ("{error}", "", "请重试，或用 --url 指定另一个存储"),
    ),
    "ledger_which": (
        ("say what to do: show, release, export [FILE] or import FILE", "", "noonmark ledger show"),
        ("请指明要做什么：show、release、export [文件] 或 import 文件", "", "noonmark ledger show"),
    ),
    "ledger_release_how": (
        (
            "say how the held rows are to be released, and why",
            "only a person knows whether they ran in what the store lost",
            "noonmark ledger release --as run|done --reason WHY, perhaps with --job JOB",
        ),
        (
            "请指明如何放行以及原因",
            "只有人知道它们是否在存储丢失的时段里运行过",
            "noonmark ledger release --as run|done --reason 原因，可加 --job 任务",
        ),
    ),
    "ledger_no_job": (
        ("there is no job {job}", "", "noonmark jobs lists them"),
        ("没有任务 {job}", "", "noonmark jobs 可列出"),
    ),
    "ledger_no_guard": (
        ("this store has no name of its own, so its ledger cannot be exported", "", "ask whoever makes it"),
        ("该存储没有自己的标识，无法导出账本", "", "请询问其作者"),
    ),
    "ledger_no_state": (
        (
            "no worker of this host has a state folder for this store in {folder}",
            "it ran on another host, as another user, or blind",
            "run it where the worker ran, or name the folder: --from-state DIR",
        ),
        (
            "{folder} 里没有本机 worker 关于该存储的状态目录",
            "它在别的主机或以别的用户运行过，或是盲 worker",
            "请在 worker 所在处执行，或指明目录：--from-state 目录",
        ),
    ),
    "ledger_there": (
        ("{file} is there already", "an export never overwrites", "name another file"),
        ("{file} 已存在", "导出从不覆盖", "请换一个文件名"),
    ),
    "ledger_file": (
        ("cannot use the file {file}", "{error}", "name another one"),
        ("无法使用文件 {file}", "{error}", "请换一个文件"),
    ),
    "ledger_broken": (
        (
            "{file} is no ledger as it was written",
            "{error}",
            "export it again: noonmark ledger export FILE",
        ),
        ("{file} 不是原样的账本", "{error}", "请重新导出：noonmark ledger export 文件"),
    ),
    "store_which": (
        (
            "say what to do: migrate, or copy FROM TO",
            "--sql goes with migrate, --go and --while-workers-run with copy",
            "noonmark store copy sqlite:///.noonmark/noonmark.db postgresql://host/database",
        ),
        (
            "请指明要做什么：migrate，或 copy 源 目标",
            "--sql 用于 migrate，--go 和 --while-workers-run 用于 copy",
            "noonmark store copy sqlite:///.noonmark/noonmark.db postgresql://主机/数据库",
        ),
    ),
    "copy_value": (
        (
            "{url} cannot hold everything that is in the source",
            "{error}",
            "nothing can work with what was copied so far: empty it, and choose another store",
        ),
        (
            "{url} 无法保存源中的全部内容",
            "{error}",
            "已复制的部分不能使用：请清空它，并换一个存储",
        ),
    ),
    "no_archive": (
        (
            "the store {url} cannot be copied",
            "it does not offer the archive of noonmark.ports.archive",
            "ask its makers for it; noonmark.testing.conformance.archive_cases tries it",
        ),
        (
            "存储 {url} 无法复制",
            "它没有实现 noonmark.ports.archive",
            "请联系其作者；noonmark.testing.conformance.archive_cases 可用于检验",
        ),
    ),
    "file_unusable": (
        ("cannot use {path}: {error}", "", "check the name, and that you may read and write there"),
        ("无法使用 {path}：{error}", "", "请检查名称以及读写权限"),
    ),
    "unwritable": (
        ("cannot write the answer: {error}", "", "free some space, or send the output elsewhere"),
        ("无法写出结果：{error}", "", "请腾出空间，或把输出写到别处"),
    ),
    "fault": (
        (
            "{error}",
            "this is a fault in noonmark, not yours",
            "run it again with -v and report what it prints",
        ),
        ("{error}", "这是 noonmark 的缺陷，不是你的错", "请加 -v 再运行一次，并报告输出"),
    ),
    "not_found": (("{what}", "", "{do}"), ("{what}", "", "{do}")),
    # -- rules and apps
    "rules_refused": (
        ("the rules are refused, nothing was changed", "{problems}", "noonmark schema describes every field"),
        ("规则被拒绝，未作任何改动", "{problems}", "noonmark schema 说明每个字段"),
    ),
    "name_rules": (
        ("name one rules file", "", "noonmark rules check noonmark.yaml"),
        ("请指明一个规则文件", "", "noonmark rules check noonmark.yaml"),
    ),
    "no_file": (
        ("there is no file {path}", "looked in {folder}", "check the name, or write one to start from: noonmark init"),
        ("没有文件 {path}", "查找位置：{folder}", "请检查文件名，或用 noonmark init 生成一个"),
    ),
    "is_folder": (
        ("{path} is a folder, not a file", "", "name a file inside it, such as {path}/noonmark.yaml"),
        ("{path} 是目录，不是文件", "", "请写出其中的文件，如 {path}/noonmark.yaml"),
    ),
    "no_python": (
        ("{path} is no Python file", "", "write module:sched, path/to/file.py or noonmark.yaml"),
        ("{path} 不是 Python 文件", "", "请写 module:sched、path/to/file.py 或 noonmark.yaml"),
    ),
    "no_module": (
        (
            "there is no module {name!r}",
            "looked in {folder} and the installed packages",
            "write module:sched, path/to/file.py or noonmark.yaml",
        ),
        (
            "没有模块 {name!r}",
            "查找位置：{folder} 和已安装的包",
            "请写 module:sched、path/to/file.py 或 noonmark.yaml",
        ),
    ),
    "no_attribute": (
        ("{app} is no Scheduler: there is none of that name", "", "name the one that is there, or write it: {near}"),
        ("{app} 不是 Scheduler：没有这个名字", "", "请写已有的那个，或补上：{near}"),
    ),
    "wrong_attribute": (
        ("{app} is no Scheduler: it is a {kind}", "", "name the variable that holds it: sched = Scheduler()"),
        ("{app} 不是 Scheduler：它是 {kind}", "", "请写出保存它的变量：sched = Scheduler()"),
    ),
    "several_schedulers": (
        ("{app} has several Schedulers: {names}", "", "name one: {app}:{first}"),
        ("{app} 有多个 Scheduler：{names}", "", "请指明一个：{app}:{first}"),
    ),
    "no_scheduler": (
        ("{app} has no Scheduler", "a worker runs the jobs of one", "add: sched = Scheduler()"),
        ("{app} 没有 Scheduler", "worker 运行的是它的任务", "请加上：sched = Scheduler()"),
    ),
    "app_broken": (
        ("{app} cannot be loaded: {error}", "{where}", "mend that line, then start it again"),
        ("无法加载 {app}：{error}", "{where}", "修好这一行，再重新启动"),
    ),
    "job_ended": (
        (
            "the job {job} was ended",
            "its rule was taken back; its history stays: noonmark history {job}",
            "to begin it again: noonmark rules apply FILE, or start a worker whose app declares it",
        ),
        (
            "任务 {job} 已终止",
            "它的规则已收回；历史仍在：noonmark history {job}",
            "若要重新开始：noonmark rules apply 文件，或启动声明了它的 worker",
        ),
    ),
    "rule_unreadable": (
        (
            "the stored rule of {job} cannot be read by this version",
            "it was probably written by a newer noonmark",
            "upgrade noonmark, or register the job again",
        ),
        (
            "本版本无法读取 {job} 的规则",
            "它可能由更新的 noonmark 写入",
            "请升级 noonmark，或重新登记该任务",
        ),
    ),
    # -- what a person typed
    "no_id": (
        ("{text!r} is no occurrence", "one is written by its number, 123 or r123", "noonmark history lists them"),
        ("{text!r} 不是触发编号", "写它的编号，如 123 或 r123", "noonmark history 可列出全部"),
    ),
    "say_why_which": (
        ("say what to explain: a job, --key or --occurrence", "", "noonmark jobs lists the jobs"),
        ("请指明要解释什么：任务、--key 或 --occurrence", "", "noonmark jobs 可列出任务"),
    ),
    "why_two": (
        (
            "{first} and {second} say two different things",
            "one occurrence is explained at a time",
            "leave one of them out",
        ),
        ("{first} 与 {second} 指的是两样东西", "一次只解释一次触发", "请去掉其中之一"),
    ),
    "bad_time": (
        ("{option}: {error}", "", "write a time as 2026-11-28T18:30, or a date as 2026-11-28"),
        ("{option}：{error}", "", "时间请写成 2026-11-28T18:30，日期写成 2026-11-28"),
    ),
    "bad_span": (
        ("{text!r} is neither a length nor a time", "{error}", "write 24h, 2026-11-28 or 2026-11-28T18:30"),
        ("{text!r} 既不是时长也不是时间", "{error}", "请写 24h、2026-11-28 或 2026-11-28T18:30"),
    ),
    "backwards": (
        ("the span ends before it begins", "from {start} to {end}", "swap {first} and {second}"),
        ("时间段的结束早于开始", "从 {start} 到 {end}", "请对调 {first} 与 {second}"),
    ),
    "bad_tz": (
        ("--tz: {error}", "", "write an IANA name: --tz Asia/Shanghai"),
        ("--tz：{error}", "", "请写 IANA 名称：--tz Asia/Shanghai"),
    ),
    "bad_grace": (
        ("--grace: {error}", "", "write a length: --grace 30s"),
        ("--grace：{error}", "", "请写时长：--grace 30s"),
    ),
    "bad_date": (
        ("--for {date!r} is no date", "", "write it as 2026-11-28"),
        ("--for {date!r} 不是日期", "", "请写成 2026-11-28"),
    ),
    "bad_param": (
        ("--param {text!r} has no name and value", "", "write --param channel=ops"),
        ("--param {text!r} 没有名字和取值", "", "请写成 --param channel=ops"),
    ),
    "again_reason": (
        (
            "--again needs --reason",
            "a second run on purpose is recorded with its reason",
            'add --reason "why it runs again"',
        ),
        ("--again 需要 --reason", "有意重跑会连同原因一起记录", "请加上 --reason “重跑原因”"),
    ),
    "no_subject": (
        ("{job} has no such subject", "", "{known}"),
        ("{job} 没有这个对象", "", "{known}"),
    ),
    "bad_state": (
        ("--state {text!r} is neither a state nor an outcome", "states: {states}", "outcomes: {outcomes}"),
        ("--state {text!r} 既不是状态也不是结果", "状态：{states}", "结果：{outcomes}"),
    ),
    "cancel_which": (
        ("say what to cancel: an occurrence, or --key KEY, not both", "", "noonmark backlog lists what is open"),
        ("请指明取消什么：触发编号或 --key，二者取一", "", "noonmark backlog 可列出未结束的触发"),
    ),
    "clear_value": (
        ("--clear and --value exclude each other", "a cleared flag has no value", "leave one of them out"),
        ("--clear 与 --value 不能同时使用", "已清除的标志没有值", "请去掉其中之一"),
    ),
    "false_flag": (
        ("a flag set to null or false would not hold", "what waits for it would go on waiting", "to clear it: --clear"),
        ("设为 null 或 false 的标志等于没有设置", "等待它的任务会继续等待", "若要清除：--clear"),
    ),
    "bad_flag": (
        ("{error}", "", "noonmark flags shows the names that jobs wait for"),
        ("{error}", "", "noonmark flags 可看任务等待的标志名"),
    ),
    "bad_payload": (
        ("{error}", "the store keeps small JSON, so that it stays fast", "pass where the data is, not the data"),
        ("{error}", "存储只保存小块 JSON，以保持快速", "请传数据的位置，而不是数据本身"),
    ),
    "empty_reason": (
        ("--reason is empty", "it is kept in the ledger for whoever asks later", 'write why: --reason "…"'),
        ("--reason 为空", "它会留在账本里，供日后查问", "请写明原因：--reason “…”"),
    ),
    "too_many": (
        (
            "{job} was due too often in that span to be recomputed at once",
            "",
            "name a shorter span with --since, or one job with --job",
        ),
        ("{job} 在这段时间内到期次数太多，无法一次重算", "", "请用 --since 缩短时间段，或用 --job 只看一个任务"),
    ),
    # -- writing files
    "there_already": (
        (
            "{files}: there already",
            "init never overwrites, so nothing was written",
            "choose an empty folder: noonmark init FOLDER",
        ),
        ("{files} 已经存在", "init 从不覆盖，因此什么都没写", "请选一个空目录：noonmark init 目录"),
    ),
    "cannot_write": (
        ("cannot write into {folder}: {error}", "", "choose a folder that you may write to: noonmark init FOLDER"),
        ("无法写入 {folder}：{error}", "", "请选一个可写的目录：noonmark init 目录"),
    ),
    # -- the demo
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
