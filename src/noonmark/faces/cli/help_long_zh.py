"""What ``noonmark COMMAND --help`` says in Chinese beneath the command's one line: the rest, and its own options.

Rule of the file: only text, by the names of the commands and options; the English stands where they are made, and a test
holds that every command and every option has its Chinese here ("" where the one line of ``help_zh.py`` says all).
"""

from __future__ import annotations

_REASON = "原因；记入账本。"
_APP = "从应用或规则文件读取规则，而不是从存储。"
_STATE = "要读取的 worker 状态目录，可重复；none：不读日志。"

LONG: dict[str, str] = {
    "init": "把 noonmark.yaml 和 jobs.py 写到 FOLDER；已有的文件绝不覆盖。",
    "demo": "在 --dir 里的 SQLite 文件上进行；加 --url 则在服务器上单独的 schema 或命名空间里进行，结束时删除"
    "（不看 NOONMARK_URL）。若结尾的证明不成立，退出码为 1。加 --json 时，各行写到标准错误，证明作为一个对象写到标准输出。",
    "dev": "为 APP 运行一个 worker；.py 或 .yaml 文件一改就重新启动。",
    "worker": "APP 写作 module:sched、path.py、path.py:sched 或 noonmark.yaml。\n\n"
    "SIGTERM 或 Ctrl-C：不再取新的，正在运行的在 --grace 之内做完，其余交还。再来一次则立即停止。",
    "jobs": "最近几次以最右为最新。\n\n"
    "符号：# 准时，+ 补跑或接手，? 错过，x 需要人处理，… 等待，> 运行中，r 重试中，o 因重复被拒，- 按规则跳过，/ 已取消。",
    "show": "并说明每个值从哪里来。",
    "next": "只看一个 JOB，或看全部。",
    "why": "没有 --at、--key 或 --occurrence 时：JOB 最近的、值得一说的那一次。\n\n"
    "JOB[tenant=a]（表格中的写法）只指其中一个主体。",
    "history": "只看一个 JOB，或看全部，新的在前。",
    "run": "它用的键与时间表会用的相同，因此已完成的会被拒绝（退出码 3），除非写 --again。"
    "--for 请求一个已经过去的时刻，并按它本来的样子：它的日期、它的键。\n\n"
    "今天的窗口和条件对它同样有效：要等的照样请求（退出码 0）；按目前情况不运行就会结束的（窗口已过），"
    "退出码为 3，并照常通知人。写 --override window 则照样开始，它的重试也一样；工作日和条件仍然有效。",
    "retry": "触发写作 123 或 r123：键不变，已做的步骤保留，尝试次数重新计。\n\n"
    "今天的窗口对它有效：若按目前情况窗口已过、不会再尝试，退出码为 3。"
    "若外部动作（ctx.once）是否发生无人知道，它会再次执行：请先核实。",
    "cancel": "触发写作 123 或 r123；或用 --key 取消该键下所有未结束的。\n\n"
    "正在运行的会被要求停止；已完成的保持完成（退出码 3）。\n\n"
    "没有任何触发用的键从此被占住：时间表、事件或调用以它请求的不会运行；人工的 noonmark run 照常运行。",
    "mark": "触发写作 123 或 r123：done 已完成，handled 已在别处处理，skip 不再运行。",
    "pause": "期间到期的记为跳过，正在运行的继续。",
    "resume": "暂停期间到期的不会补跑。",
    "end": "不再有新的到期，正在运行的继续，历史及其键保留。\n\n若某个 worker 的应用仍声明该任务，它启动时会重新登记。",
    "signal": "设成与现在相同的值，什么都不变。",
    "flags": "或只看所写的 NAMES：是否已设置，有多少触发在等。",
    "backlog": "先到期的在前。",
    "leases": "",
    "verify": "按规则重新推算应有的触发，并与账本核对。\n\n"
    "若有什么跑了两遍、下落不明或某条不变式不成立，退出码为 1；存储回退过而尚未放行（noonmark ledger）时也是。",
    "simulate": "APP：规则文件，或 module:sched。说明会晚到或漏掉什么。",
    "doctor": "并说明每项发现是什么意思。\n\n"
    "它什么都不新建：对还没有存储的服务器，它说明那里的存储会承诺什么。APP（或当前目录的 noonmark.yaml）"
    "指明要与已登记规则比较的规则。有必须处理的事时退出码为 1；没有存储或存储不应答时为 4。",
    "ledger": "查看（show）、取回结果（export、import）、放行其余（release）。\n\n"
    "导出的账本只读入它所出自的存储；读入另一个存储须写 --of 和文件所写的标识。存储回退由 worker 发现；"
    "在丢失的时段里可能已经运行过的会被扣住。退出码 3：被拒绝（没有可放行的回退；账本被改动过或属于另一个存储；"
    "有触发须由 worker 先看一遍；worker 的日志知道有触发已经运行过；期间又证实了一次回退）。",
    "store": "更新（migrate），或把 FROM 的全部内容复制到空的存储 TO（copy）。\n\n"
    "copy 先说明会做什么，不新建任何东西；加 --go 才复制，并从上次中断处继续，然后重新读取两边并比较；"
    "两边一致之前没有人能使用 TO。退出码：1 两边不一致，3 被拒绝（有 worker 在线，或 TO 里有别的内容），"
    "4 没有 FROM，或其中之一不应答。",
    "rules": "检查规则文件（默认）、显示它被理解成的样子，或把它登记到存储。\n\n"
    "FILE 是 noonmark.yaml，或写成 YAML 或 Python 字面量的 TASK_RULES（只解析，绝不执行）。"
    "check 在文件被拒绝时以 1 退出；那时 apply 什么都不改。"
    "show 把它写成 noonmark.yaml；要看每个默认值：noonmark show JOB --app FILE。",
    "schema": "用法：noonmark schema > noonmark.schema.json",
    "version": "",
}

OPTIONS: dict[str, dict[str, str]] = {
    "demo": {
        "--no-kill": "不杀 worker，只说明怎样自己动手。",
        "--keep": "保留上一次演示留下的，用下一个空目录。配合 --url：什么都不删。",
        "--dir": "写到哪里。",
        "--seconds": "大约持续多少秒。",
        "--erase": "删除某次演示留在 --url 的东西，不再演示。",
    },
    "dev": {"--name": "worker 给人看的名字。", "--poll": "每隔多少秒查看改动。"},
    "worker": {
        "--concurrency": "同时运行多少个。",
        "--name": "给人看的名字。",
        "--grace": "SIGTERM 之后，正在运行的还能用多久做完。",
        "--state": "把存储确认过的记在哪里；none：不记。",
        "--log-format": "标准错误上的日志行；text，有 --json 时为 json。",
        "--log-level": "日志详细程度；info，有 -v 时为 debug，有 -q 时为 warning。",
        "--keep-good": "规则中有错时，仍运行正确的任务；每处错误以 ERROR 写入日志。",
    },
    "jobs": {"--limit": "最多多少个任务。"},
    "show": {"--app": _APP},
    "next": {"-n": "多少个。", "--from": "从何时起；不写为现在。", "--to": "到何时为止。", "--app": _APP},
    "why": {
        "--at": "时刻：2026-11-28、2026-11-28T18:30，可带时差。",
        "--key": "history 所显示的完整的键。",
        "--occurrence": "触发，123 或 r123。",
        "--state": _STATE,
    },
    "history": {
        "--job": "与 JOB 相同。",
        "--state": "状态（FAILED_MANUAL）或结果（missed、caught_up）。",
        "--since": "往回多远：24h，或一个时间。",
        "--key": "只看这个键。",
        "--limit": "最多多少个。",
        "--all": "包括还没到的。",
    },
    "run": {
        "--for": "业务日期 2026-11-28，或时间表上的时刻 2026-11-28T18:30；不写为今天。",
        "--param": "一个参数；V 若是 JSON 就按 JSON 读。",
        "--again": "虽已完成仍要运行，作为该键的新一代（须写 --reason）。",
        "--override": "虽不在时间窗内仍要运行（须写 --reason）。",
        "--reason": _REASON,
        "--dry-run": "只说会怎样。",
        "--app": "从这里查看任务的函数接受哪些参数。",
    },
    "retry": {"--reason": _REASON, "--state": _STATE},
    "cancel": {
        "--key": "取消占用此键的；未知的键从此被占住。",
        "--job": "未知的键所属的任务。",
        "--reason": _REASON,
    },
    "mark": {"--reason": _REASON},
    "pause": {"--reason": "原因；why 和 jobs 会显示。"},
    "resume": {"--reason": _REASON},
    "end": {"--reason": _REASON},
    "signal": {"--clear": "清除标志，而不是设置。", "--value": "设成什么；不写为 true。"},
    "flags": {"--all": "包括没有规则提到的标志。", "--limit": "最多多少个。"},
    "backlog": {"--limit": "最多多少行。"},
    "leases": {"--limit": "最多多少个租约。"},
    "verify": {
        "--since": "往回多远：24h，或一个时间。",
        "--until": "到何时为止；不写为现在。",
        "--job": "只看这个任务。",
        "--state": _STATE,
    },
    "simulate": {
        "--days": "多少天。",
        "--replicas": "多少个 worker。",
        "--faults": "出什么故障：none、all，或 crash、pause、restart、outage、replies、clock、slow 中的几种。",
        "--a-day": "每种故障一天多少次，所有 worker 合计。",
        "--takes": "一次运行多久。",
        "--fails": "失败的尝试所占比例。",
        "--data": "所等的标志在其时刻之后多久到来；或写 never。",
        "--events": "每种事件一天多少个。",
        "--seed": "一切听凭偶然之事的种子。",
        "--strict": "有错过或失败时以 1 退出。",
    },
    "doctor": {"--state": _STATE},
    "ledger": {
        "--job": "release：只放行这个任务的。",
        "--as": "release：让它们运行，或标记为已完成。",
        "--reason": "release：原因；记入账本。",
        "--from-state": "export：取自本机 worker 的状态目录。",
        "--of": "export --from-state、import：另一个存储（按其标识）的结果。",
        "--go": "import：真的去做；不写则只看会做什么。",
        "--state": _STATE,
    },
    "store": {
        "--sql": "migrate：打印 SQL，而不执行。",
        "--go": "copy：真的去做；不写则只看会做什么。",
        "--while-workers-run": "copy：虽有 worker 在 FROM 上运行；它们期间所做的可能缺失。",
    },
}
