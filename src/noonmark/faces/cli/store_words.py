"""What ``noonmark store`` and ``noonmark doctor`` say around their findings, in English and Chinese.

Rule of the file: only text; it is a part of ``words.WORDS``.
"""

from __future__ import annotations

STORE_WORDS: dict[str, tuple[str, str]] = {
    # -- doctor
    "to_do": ("do: {remedy}", "处理：{remedy}"),
    "doctor_well": ("Everything is as it should be.", "一切正常。"),
    "doctor_warned": (
        "Nothing must be mended; to know: {warned}.",
        "没有必须处理的问题；需要了解的有 {warned} 项。",
    ),
    "doctor_refused": (
        "To be mended: {refused}; to know: {warned}.",
        "必须处理的有 {refused} 项；需要了解的有 {warned} 项。",
    ),
    # -- migrate
    "migrate_by_itself": (
        "{store} is up to date: it is brought up to date whenever it is opened.",
        "{store} 已是最新：每次打开都会自动更新。",
    ),
    "migrate_current": ("{store} is up to date, nothing was to be done.", "{store} 已是最新，无需改动。"),
    "migrate_done": ("{store} is up to date; applied: {names}", "{store} 已更新；已执行：{names}"),
    "migrate_none": ("{store} needs no SQL.", "{store} 不需要 SQL。"),
    # -- copy
    "copy_head": ("from {start}\nto   {end}", "从 {start}\n到 {end}"),
    "copy_nothing": ("no records", "没有记录"),
    "copy_new": ("The target is not there yet; it would be made.", "目标还不存在，届时会创建。"),
    "copy_empty": ("The target holds nothing.", "目标中没有内容。"),
    "copy_goes_on": (
        "An earlier copy was cut; this one goes on where it stopped.",
        "上次复制中断；这次从中断处继续。",
    ),
    "copy_complete": ("It was copied to its end before; nothing is left to be done.", "此前已复制完毕，无需再做。"),
    "copy_dry": (
        "Nothing was copied. To do it: the same command with --go",
        "没有复制任何内容。若要执行：同一命令加 --go",
    ),
    "copy_refused": ("refused: {why}", "已拒绝：{why}"),
    "copy_same": ("both URLs lead to one store", "两个 URL 指向同一个存储"),
    "copy_foreign": (
        "the target holds what did not come from this source; name an empty store",
        "目标中有并非来自该源的内容；请指定空的存储",
    ),
    "copy_awake": (
        "workers live in the source ({workers}; a killed one counts for half a minute); stop them, or: --while-workers-run",
        "源中有在线的 worker（{workers}；被杀的还算半分钟）；请先停止，或加 --while-workers-run",
    ),
    "copy_awake_there": (
        "workers live in the target ({workers}); stop them, they would start what is only half there",
        "目标中有在线的 worker（{workers}）；请先停止，否则会执行只复制了一半的内容",
    ),
    "copy_clocks": (
        "the target's clock differs by {seconds} s from the source's; from now on the target's decides what is due",
        "目标与源的时钟相差 {seconds} 秒；此后以目标的时钟为准",
    ),
    "copy_progress": ("copied {done} of {total} records", "已复制 {done} / {total} 条记录"),
    "copy_progress_on": ("copied {done} more records", "又复制了 {done} 条记录"),
    "copy_compares": ("reading both stores again to compare them", "正在重新读取两个存储并比较"),
    "copy_same_now": (
        "{copied} records copied; both stores were read again and hold the same {total} records.",
        "已复制 {copied} 条记录；重新读取两边，{total} 条记录完全相同。",
    ),
    "copy_differs": (
        "not the same: {kind}, {source} in the source, {target} in the target",
        "不一致：{kind}，源中 {source}，目标中 {target}",
    ),
    "copy_failed": (
        (
            "Something was written to one of the two meanwhile. Stop whoever works there, empty the target, copy again. "
            "Until then nobody can work with the target; to take it as it is: the same command with --while-workers-run"
        ),
        (
            "期间有人写入了其中一个存储。请停止相关进程，清空目标后重新复制。"
            "在此之前目标不能使用；若要照现状使用：同一命令加 --while-workers-run"
        ),
    ),
    "copy_as_it_is": (
        "The target can be worked with as it is: what was written to the source meanwhile may be missing.",
        "目标可以照现状使用：期间写入源的内容可能缺失。",
    ),
    "copy_moved_on": (
        "The copy had come to its end before; one of the two was written to since, or already while it was copied.",
        "此前已复制到末尾；此后（或复制期间）其中一个存储被写入过。",
    ),
    "copy_marked": (
        "The source is marked as copied: workers that start on it warn, and doctor does. To take the mark away: {clear}",
        "源已标记为被复制：在它上面启动的 worker 和 doctor 会警告。若要去掉标记：{clear}",
    ),
    "copy_unmarked": (
        "This user may only read the source, so it is not marked as copied: nothing warns who starts a worker on it.",
        "本用户只能读源存储，因此没有标记它已被复制：在它上面启动 worker 不会有警告。",
    ),
    "copy_no_workers": (
        "Records of workers do not go along: of runs before the copy the target cannot say what became of their workers.",
        "worker 的记录不随之复制：对于复制之前的运行，目标说不出其 worker 的下落。",
    ),
    "copy_next": (
        "Now point everything at {end} (NOONMARK_URL) and start the workers; start none on the source.",
        "请把所有程序指向 {end}（NOONMARK_URL）再启动 worker；不要再在源上启动。",
    ),
}
