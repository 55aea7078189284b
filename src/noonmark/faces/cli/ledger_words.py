"""What ``noonmark ledger`` says, in English and Chinese.

Rule of the file: only text; it is a part of ``words.WORDS``.
"""

from __future__ import annotations

LEDGER_WORDS: dict[str, tuple[str, str]] = {
    "held_header": ("JOB|HELD", "任务|扣住"),
    "writers_header": ("WRITER|WORKER|MEMORY|LINKS|LAST LINK|PROVED", "写入者|worker|记忆|链长|最近一环|已证实"),
    "writer_blind": ("blind", "盲"),
    "writer_remembers": ("state folder", "状态目录"),
    "ledger_no_rollback": (
        "The store never lost anything that a worker could prove.",
        "没有 worker 证实过存储丢失数据。",
    ),
    "ledger_rollback": (
        "Rollback {number}: the store lost what it held between {since} and {until} {zone}, as {writers} proved.",
        "第 {number} 次回退：存储丢失了 {since} 至 {until}（{zone}）的数据，由 {writers} 证实。",
    ),
    "ledger_released_by": ("    released by {by} at {at}: {reason}", "    由 {by} 于 {at} 放行：{reason}"),
    "ledger_released_jobs": ("    released so far: {jobs}", "    已放行的任务：{jobs}"),
    "ledger_absent": (
        "The journals of {writers} are not among those read here: name the folder of their machine with --state DIR.",
        "此处读取的日志中没有 {writers} 的：请用 --state 目录 指明其所在机器的状态目录。",
    ),
    "journal_damaged": (
        "{place} is not as it was written: what this line of a worker's journal said is not known",
        "{place} 不是原样：worker 日志中这一行写了什么已无从得知",
    ),
    "journals_damaged": ("and more lines like that", "还有更多这样的行"),
    "ledger_not_over": (
        "Let go for {job}: rollback {numbers}. Still open for other jobs: noonmark ledger show",
        "第 {numbers} 次回退已为 {job} 放行，对其他任务仍未了结：noonmark ledger show",
    ),
    "ledger_over": (
        "Over, for every job: rollback {numbers}.",
        "对所有任务均已了结：第 {numbers} 次回退。",
    ),
    "ledger_all_over": (
        "Over, for every job: rollback {numbers}. Nothing is held any more, and the alert is closed.",
        "对所有任务均已了结：第 {numbers} 次回退。不再扣住任何触发，告警已关闭。",
    ),
    "ledger_nothing_held": ("Nothing is held.", "没有扣住的触发。"),
    "ledger_not_looked_at": (
        "May have run in it, too, and held as soon as a worker looks: {jobs}",
        "也可能已运行，worker 一查看即扣住：{jobs}",
    ),
    "ledger_nothing_to_release": (
        "Nothing to release: no rollback holds anything.",
        "无需放行：没有回退扣住任何触发。",
    ),
    "ledger_nothing_of_job": (
        "Nothing to release for {job}: it was let go before. A rollback is still open for other jobs: noonmark ledger show",
        "{job} 无需放行：先前已放行。仍有回退对其他任务未了结：noonmark ledger show",
    ),
    "ledger_released_none": ("Released; no row was held.", "已放行；没有扣住的触发。"),
    "ledger_untold": (
        (
            "The store lacks what it had acknowledged to {writers}, as their receipts say: it went back in time.\n"
            "The next worker that starts with them tells it so, and what may have run is held: noonmark worker APP"
        ),
        (
            "存储缺少它曾向 {writers} 确认过的数据（据其回执）：它回退过。\n"
            "下一个带着这些回执启动的 worker 会登记这次回退，可能已运行的触发将被扣住：noonmark worker APP"
        ),
    ),
    "ledger_former": (
        (
            "Another store lay here before, as workers of this machine remember ({former}): what it held is not here.\n"
            "What ran there:  noonmark ledger export FILE --from-state --of {first}"
        ),
        (
            "据本机 worker 的记忆，这里以前是另一个存储（{former}）：它所存的内容不在现在的存储里。\n"
            "那里运行过什么：noonmark ledger export 文件 --from-state --of {first}"
        ),
    ),
    "ledger_unreadable": (
        "The receipts of {writers} in {folder} cannot be read, so it is not known whether the store lost something of them.",
        "{folder} 中 {writers} 的回执无法读取，因此不知道存储是否丢失了它们的数据。",
    ),
    "ledger_twice": (
        "{count} are SUCCESS here by another run of their key: they ran twice (noonmark verify)",
        "{count} 个在此处已由同一键的另一次运行成功：跑了两遍（noonmark verify）",
    ),
    "ledger_to_do": (
        (
            "What the workers know:  noonmark ledger export FILE --from-state, then noonmark ledger import FILE\n"
            "Then let the rest go:   noonmark ledger release --as run|done --reason WHY"
        ),
        (
            "先取回 worker 所知：noonmark ledger export FILE --from-state，再 noonmark ledger import FILE\n"
            "再放行其余：noonmark ledger release --as run|done --reason 原因"
        ),
    ),
    "ledger_rules": (
        (
            "Rules put in force or ended since it was found (revision), by workers that declared again what was lost or\n"
            "by people: {jobs}. What is in force: noonmark show {first}"
        ),
        (
            "发现以来生效或被终止的规则（修订号），出于 worker 重新声明丢失的部分，或出于人：{jobs}。\n"
            "现行规则：noonmark show {first}"
        ),
    ),
    "ledger_acts": (
        (
            "What people did in that time is gone, too: cancels, pauses, resumes, retries, marks, flags, changes of rules,\n"
            "work that was asked for. What was typed on a machine is told there; of the rest look, and do it again:\n"
            "noonmark jobs, flags, next, show"
        ),
        (
            "那段时间里人做的事也丢了：取消、暂停、恢复、重试、标记、标志、规则的改动、人工提出的运行。\n"
            "在哪台机器上输入的，就在那台机器上列出；其余的请查看并重做：noonmark jobs、flags、next、show"
        ),
    ),
    "ledger_deeds": (
        "Done by a person in the lost range, and gone: type these again (times in {zone}).",
        "在丢失的时段里由人所做、现已不在的：请重新输入（时间为 {zone}）。",
    ),
    "deeds_header": ("AT|BY|COMMAND", "时间|由|命令"),
    "ledger_deed_no_row": (
        "{at}  {by}  {what}: of {job}, key {key}, which is not there now; once it is: noonmark why --key KEY",
        "{at}  {by}  {what}：属于 {job}，键 {key}，现在没有这个触发；待其出现后：noonmark why --key 键",
    ),
    "deed_forgotten": (
        (
            "Done, but not written down on this machine ({why}): should the store lose it, nobody can name it. "
            "NOONMARK_STATE names another folder, or none."
        ),
        "已完成，但未能记在本机（{why}）：若存储丢失了它，就没有人说得出来。NOONMARK_STATE 可指明另一个目录，或 none。",
    ),
    "ledger_cancelled": (
        (
            "Cancelled while they ran in that time, as a journal here knows, and open again: {rows}\n"
            "If that still holds:     noonmark cancel {first} --reason WHY"
        ),
        (
            "据这里的日志，那段时间里运行中被取消、现在又未结束的：{rows}\n"
            "若仍要取消：noonmark cancel {first} --reason 原因"
        ),
    ),
    "ledger_let_run_one": (
        "1 held row may run now; its start says that it may be a repeat.",
        "1 个被扣住的触发现在可以运行；启动时会注明可能是重复。",
    ),
    "ledger_marked_one": ("1 row is marked as done.", "1 个触发已标记为已完成。"),
    "ledger_let_run": (
        "{rows} held rows may run now; each start says that it may be a repeat.",
        "{rows} 个被扣住的触发现在可以运行；每次启动都会注明可能是重复。",
    ),
    "ledger_marked": ("{rows} rows are marked as done.", "{rows} 个触发已标记为已完成。"),
    "ledger_left": (
        "Not yet: a worker has to look at {left} first; call again in a moment.",
        "还有未处理的：须先由 worker 查看 {left}；请稍后再执行一次。",
    ),
    "ledger_behind": (
        "Not yet: r{other} has the key of r{row} and has not ended; call again once it has, or: noonmark why r{other}",
        "还有未处理的：r{row} 的键由 r{other} 持有，而它尚未结束；待其结束后再执行一次，或：noonmark why r{other}",
    ),
    "ledger_skipped": (
        "Of these will not run, for another row has had their key and ended: {rows}",
        "其中不会再运行的（其键属于另一个已结束的触发）：{rows}",
    ),
    "ledger_added": (
        "Proved or grown meanwhile, and still held: rollback {numbers}. Look at it, then release again.",
        "期间新证实或扩大、仍被扣住的：第 {numbers} 次回退。请先查看，再执行放行。",
    ),
    "ledger_exported": (
        "{count} outcomes of the store {store} written to {file}",
        "已将存储 {store} 的 {count} 个结果写入 {file}",
    ),
    "ledger_from_own": ("From this store ({store}):", "来自本存储（{store}）："),
    "ledger_from": ("From ANOTHER store ({store}):", "来自另一个存储（{store}）："),
    "ledger_mark": ("{count} known here become SUCCESS", "{count} 个此处已有的将成为 SUCCESS"),
    "ledger_make": ("{count} unknown here are entered as SUCCESS", "{count} 个此处没有的将补记为 SUCCESS"),
    "ledger_there": ("{count} are SUCCESS here already", "{count} 个在此处已是 SUCCESS"),
    "ledger_kept": (
        (
            "{count} are kept as they are: the row, or the one that has their key, ended otherwise, is running, is "
            "looked at just now or was asked for again on purpose"
        ),
        "{count} 个保持原样：该行或持有其键的那一行以其他方式结束、正在运行、正被查看，或被有意再次请求",
    ),
    "ledger_no_success": ("{count} are no successes and are left out", "{count} 个不是成功，忽略"),
    "ledger_nothing_in": ("The ledger holds no outcome.", "账本中没有结果。"),
    "ledger_dry": ("Nothing was changed. To do it: --go", "未作任何改动。执行请加 --go"),
    "ledger_done": ("Done.", "已完成。"),
    "blind_workers": (
        "blind (no state folder, so after a restart they cannot tell whether the store lost something): {names}",
        "盲 worker（没有状态目录，重启后无法得知存储是否丢失数据）：{names}",
    ),
}

LEDGER_TROUBLES: dict[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "ledger_which": (
        ("say what to do: show, release, export [FILE] or import FILE", "", "noonmark ledger show"),
        ("请指明要做什么：show、release、export [文件] 或 import 文件", "", "noonmark ledger show"),
    ),
    "ledger_no_file": (
        ("say which file is to be read", "", "noonmark ledger import FILE"),
        ("请指明要读取的文件", "", "noonmark ledger import 文件"),
    ),
    "ledger_option": (
        (
            "{option} says nothing with {action}",
            "it belongs to {taken_by}",
            "leave it out, or: noonmark ledger {taken_by}",
        ),
        ("{option} 对 {action} 没有意义", "它属于 {taken_by}", "请去掉它，或使用 noonmark ledger {taken_by}"),
    ),
    "ledger_state_export": (
        (
            "--state says nothing with export",
            "it names folders that are read beside the store; an export is of one",
            "noonmark ledger export FILE --from-state DIR",
        ),
        (
            "--state 对 export 没有意义",
            "它指明与存储一起读取的目录；一次导出只取其一",
            "noonmark ledger export 文件 --from-state 目录",
        ),
    ),
    "ledger_known": (
        (
            "{count} of the held rows ran already, as the workers' journals know: {rows}",
            "released as run they would run a second time",
            "noonmark ledger export FILE --from-state{state}, then noonmark ledger import FILE --go, then release the rest",
        ),
        (
            "{count} 个被扣住的触发已经运行过（据 worker 的日志）：{rows}",
            "按 run 放行会让它们再跑一遍",
            "先 noonmark ledger export 文件 --from-state{state}，再 noonmark ledger import 文件 --go，然后放行其余",
        ),
    ),
    "retry_known": (
        (
            "{row} ran already, in what the store lost, as the journal of {writer} knows",
            "tried again it would run a second time",
            "noonmark ledger export FILE --from-state{state}, then noonmark ledger import FILE --go",
        ),
        (
            "{row} 已经运行过（据 {writer} 的日志，在存储丢失的时段里）",
            "重试会让它再跑一遍",
            "先 noonmark ledger export 文件 --from-state{state}，再 noonmark ledger import 文件 --go",
        ),
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
            "no worker has a state folder for this store in {folder}",
            "it ran on another host, as another user, or blind",
            "run it where the worker ran, or name its folder: --from-state DIR to export, else --state DIR",
        ),
        (
            "{folder} 里没有 worker 关于该存储的状态目录",
            "它在别的主机或以别的用户运行过，或是盲 worker",
            "请在 worker 所在处执行，或指明其目录：导出用 --from-state 目录，其他用 --state 目录",
        ),
    ),
    "ledger_other_state": (
        (
            "no worker has a state folder for the store {store} in {folder}",
            "there are journals of: {stores}; one of them may be what a store was before it came back empty",
            "name that one: noonmark ledger export FILE {named} --of {newest}",
        ),
        (
            "{folder} 里没有 worker 关于存储 {store} 的状态目录",
            "那里有这些存储的日志：{stores}；其中之一可能是某个存储变空之前的那一个",
            "请指明它：noonmark ledger export 文件 {named} --of {newest}",
        ),
    ),
    "ledger_of": (
        (
            "--of names another store's outcomes, and the ledger of this one is asked for",
            "only journals (--from-state) and files (import) can be another store's",
            "leave it out, or add --from-state",
        ),
        (
            "--of 指另一个存储的结果，而这里要的是本存储的账本",
            "只有日志（--from-state）和文件（import）可以来自另一个存储",
            "请去掉它，或加上 --from-state",
        ),
    ),
    "ledger_other_store": (
        (
            "{file} has the outcomes of another store ({store}; this one is {own})",
            "what was done for that one may still be due here: a test system's successes would end production's work",
            "if this store took that one's place: noonmark ledger import {file} --of {store}",
        ),
        (
            "{file} 是另一个存储的结果（{store}；本存储是 {own}）",
            "为那个存储做过的，这里可能仍须做：测试系统的成功会让生产的工作不再运行",
            "若本存储接替了那个存储：noonmark ledger import {file} --of {store}",
        ),
    ),
    "ledger_not_of": (
        (
            "{file} has the outcomes of the store {store}, not of {of}",
            "",
            "name the file of that store, or the store of this file",
        ),
        ("{file} 是存储 {store} 的结果，不是 {of} 的", "", "请写那个存储的文件，或写该文件的存储"),
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
            "{place}: no ledger as it was written",
            "{error}",
            "export it again: noonmark ledger export FILE",
        ),
        ("{place}：不是原样的账本", "{error}", "请重新导出：noonmark ledger export 文件"),
    ),
}
