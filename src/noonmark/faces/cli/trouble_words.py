"""Every trouble in English and Chinese: what is wrong, why, what to do.

Rule of the file: only text.  Both languages have the same names in braces, which a test holds; "" goes without saying.
"""

from __future__ import annotations

from noonmark.faces.cli.demo_trouble_words import DEMO_TROUBLES, Words
from noonmark.faces.cli.given_trouble_words import GIVEN_TROUBLES
from noonmark.faces.cli.ledger_words import LEDGER_TROUBLES
from noonmark.faces.cli.simulate_words import SIMULATE_TROUBLES

TROUBLES: dict[str, tuple[Words, Words]] = {
    **LEDGER_TROUBLES,
    **SIMULATE_TROUBLES,
    "usage": (("{what}", "", "{command} --help"), ("{what}", "", "{command} --help")),
    "interrupted": (("interrupted", "", "run it again"), ("已中断", "", "请重新执行")),
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
    "store_url": (
        ("{error}", "", "name the store with --url or NOONMARK_URL"),
        ("{error}", "", "请用 --url 或 NOONMARK_URL 指明存储"),
    ),
    "driver_missing": (
        ("{needs}", "it is not installed for this Python", "{how}"),
        ("{needs}", "当前 Python 没有安装它", "{how}"),
    ),
    "store_unusable": (
        ("{error}", "", "or name another store with --url"),
        ("{error}", "", "或用 --url 指定另一个存储"),
    ),
    "store_away": (
        ("{error}", "", "try again, or name another store with --url"),
        ("{error}", "", "请重试，或用 --url 指定另一个存储"),
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
    "rules_action": (
        ("rules does not know {word!r}", "", "noonmark rules check FILE, show FILE or apply FILE"),
        ("rules 没有 {word!r} 这个动作", "", "noonmark rules check 文件；或 show、apply"),
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
            "the job {job} was ended at {at} by {actor}: {reason}",
            "its rule was taken back; its history stays: noonmark history {job}",
            "to begin it again: noonmark rules apply FILE, or start a worker whose app declares it",
        ),
        (
            "任务 {job} 已由 {actor} 于 {at} 终止：{reason}",
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
    "occurrence_elsewhere": (
        ("r{number} is of {other}, not of {job}", "", "leave {job} out, or name another occurrence"),
        ("r{number} 属于 {other}，不属于 {job}", "", "请去掉 {job}，或换一个触发编号"),
    ),
    "bad_time": (
        ("{option}: {error}", "", "write a time as 2026-11-28T18:30; --at takes a date, too: 2026-11-28"),
        ("{option}：{error}", "", "时间请写成 2026-11-28T18:30；--at 也可以只写日期：2026-11-28"),
    ),
    "bad_length": (
        ("{option}: {error}", "", "write a length as 30s, 5m, 2h or 1d"),
        ("{option}：{error}", "", "时长请写成 30s、5m、2h 或 1d"),
    ),
    "bad_span": (
        ("{text!r} is neither a length nor a time", "{error}", "write 24h, 2026-11-28 or 2026-11-28T18:30"),
        ("{text!r} 既不是时长也不是时间", "{error}", "请写 24h、2026-11-28 或 2026-11-28T18:30"),
    ),
    "backwards": (
        ("the span ends before it begins", "from {start} to {end}", "swap {first} and {second}"),
        ("时间段的结束早于开始", "从 {start} 到 {end}", "请对调 {first} 与 {second}"),
    ),
    "since_to_come": (
        ("--since {text} is still to come", "nothing was due yet after it", "name a time that is over: --since 24h"),
        ("--since {text} 还没有到", "此后尚无任何到期", "请写已经过去的时间：--since 24h"),
    ),
    "bad_tz": (
        ("--tz: {error}", "", "write an IANA name: --tz Asia/Shanghai"),
        ("--tz：{error}", "", "请写 IANA 名称：--tz Asia/Shanghai"),
    ),
    "bad_grace": (
        ("--grace: {error}", "", "write a length: --grace 30s"),
        ("--grace：{error}", "", "请写时长：--grace 30s"),
    ),
    "bad_worker_name": (
        ("--name: {error}", "", "give it a short one: --name w1"),
        ("--name：{error}", "", "请给短名字：--name w1"),
    ),
    "bad_for": (
        ("--for {text!r} is neither a date nor a time", "", "write 2026-11-28 or 2026-11-28T18:30"),
        ("--for {text!r} 既不是日期也不是时间", "", "请写 2026-11-28 或 2026-11-28T18:30"),
    ),
    "no_moments": (
        (
            "{job} has no moments of its own",
            "it runs when it is asked to, or on an event",
            "leave --for out, or name a date",
        ),
        ("{job} 没有自己的时刻", "它只在被请求或事件到来时运行", "请去掉 --for，或只写日期"),
    ),
    "no_such_moment": (
        ("{job} is not due at {text}", "its schedule has no such moment", "name one that it has; nearest: {near}"),
        ("{job} 在 {text} 并不到期", "其时间表没有这一时刻", "请写它有的时刻；最近的是：{near}"),
    ),
    "moment_to_come": (
        ("{job} is due at {at}, which is yet to come", "nothing starts before its time", "wait, or leave --for out"),
        ("{job} 到 {at} 才到期", "任何运行都不会提前开始", "请等待，或去掉 --for"),
    ),
    "several_moments": (
        (
            "{job} has several moments at {text}",
            "each has a key of its own: {moments}",
            "write one of them: --for {first}",
        ),
        ("{job} 在 {text} 有多个时刻", "各有自己的键：{moments}", "请写其中一个：--for {first}"),
    ),
    "bad_param": (
        ("--param {text!r} has no name and value", "", "write --param channel=ops"),
        ("--param {text!r} 没有名字和取值", "", "请写成 --param channel=ops"),
    ),
    "too_deep": (
        ("{option} is nested too deeply to be read", "", "pass where the data is, not the data"),
        ("{option} 嵌套过深，无法读取", "", "请传数据的位置，而不是数据本身"),
    ),
    "param_twice": (
        ("--param {param} is given twice", "a run has one value for each param", "leave one of them out"),
        ("--param {param} 给了两次", "一次运行中每个参数只有一个值", "请去掉其中之一"),
    ),
    "param_missing": (
        ("{job} needs {names}", 'its {part} is made of it: "{template}"', "add {add}"),
        ("{job} 需要 {names}", "它的{part}由此构成：“{template}”", "请加上 {add}"),
    ),
    "param_misspelt": (
        ("{job} needs {names}, not {given}", 'its {part} is made of it: "{template}"', "write {add}"),
        ("{job} 需要的是 {names}，不是 {given}", "它的{part}由此构成：“{template}”", "请写 {add}"),
    ),
    "param_needed": (
        ("{job} needs {names}", "its function has no default for it", "add {add}"),
        ("{job} 需要 {names}", "它的函数没有给出默认值", "请加上 {add}"),
    ),
    "param_unknown": (
        ("{job} does not take {names}", "it takes: {known}", "leave it out, or let its function take it"),
        ("{job} 不接受 {names}", "它接受：{known}", "请去掉它，或让其函数接受它"),
    ),
    "param_near": (
        (
            "{job} does not take {names}",
            "it takes: {known}",
            "did you mean {near}? write --param {near}=… instead of {name}",
        ),
        ("{job} 不接受 {names}", "它接受：{known}", "是否想写 {near}？请用 --param {near}=… 代替 {name}"),
    ),
    "option_goes_with": (
        ("{option} goes with {other}", "alone it would change nothing", "leave it out, or add {other}"),
        ("{option} 要与 {other} 一起使用", "单独使用没有作用", "请去掉它，或加上 {other}"),
    ),
    "option_without": (
        ("{option} and {other} exclude each other", "one of the two would be ignored", "leave one of them out"),
        ("{option} 与 {other} 不能同时使用", "其中之一会被忽略", "请去掉其中之一"),
    ),
    "now_reads_only": (
        (
            "--now only goes with what reads",
            "what is done is done at the store's time, and recorded at that time",
            "leave --now out; run takes it with --dry-run",
        ),
        (
            "--now 只能用于查看",
            "执行的操作总以存储的时间为准，并按该时间记录",
            "请去掉 --now；run 可与 --dry-run 一起使用",
        ),
    ),
    "again_reason": (
        (
            "{option} needs --reason",
            "what is done on purpose against a rule is recorded with its reason",
            'add --reason "why it runs all the same"',
        ),
        ("{option} 需要 --reason", "有意不按规则做的事会连同原因一起记录", "请加上 --reason “原因”"),
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
    **DEMO_TROUBLES,
    **GIVEN_TROUBLES,
}
