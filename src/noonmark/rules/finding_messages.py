"""What is sound in a rule but may not be what its writer meant; findings never stop a load.

Rule of the file: a code is permanent once released.
"""

from __future__ import annotations

from noonmark.rules.message import Message

FINDING_MESSAGES: dict[str, Message] = {
    "cron_reading": Message("{error}", "", "", "{error}", "", ""),
    "key_same_twice": Message(
        'the moments {first} and {second} have the same key "{key}"',
        "whichever comes second is a duplicate and does not run once the other has succeeded",
        "add {{scheduled_for}}, unless one success for both is what is meant",
        "时刻 {first} 与 {second} 的键都是“{key}”",
        "其中一次成功后，另一次会被当成重复而不运行",
        "请加上 {{scheduled_for}}，除非本来就只要成功一次",
    ),
    "zone_without_summer": Message(
        "{value} has no daylight saving",
        "in summer its clock is not the one on the wall",
        "write {meant}, if that is meant",
        "{value} 没有夏令时",
        "夏天它与墙上的钟不一致",
        "若本意如此，请写 {meant}",
    ),
    "zone_counts_west": Message(
        "{value} is UTC{side}{hours}",
        "these zones count westwards",
        "write a city's zone",
        "{value} 是 UTC{side}{hours}",
        "这类时区向西计数",
        "请写城市的时区",
    ),
    "every_day_in_real_time": Message(
        "every {value} is real time",
        "when the clocks of {zone} change it comes an hour earlier or later by the clock",
        "write cron, if a time of day is meant",
        "every {value} 按真实时间计",
        "{zone} 换时后，钟点会早或晚一小时",
        "若指一天中的某个时间，请写 cron",
    ),
    "moments_meet": Message(
        '"{value}" is the same instant as "{other}"',
        "one instant is one occurrence",
        "remove one",
        "“{value}”与“{other}”是同一时刻",
        "一个时刻只有一次执行",
        "请删去一个",
    ),
    "moments_over": Message(
        "nothing of it is to come, the last moment was {ago} ago",
        "a rule never runs its past",
        "correct the date, or ask for a run with `noonmark run`",
        "没有将来的时刻，最后一个在 {ago} 前",
        "规则从不补跑生效之前的时刻",
        "请改正日期，或用 `noonmark run` 请求运行",
    ),
    "weekends_only": Message(
        "every moment of the job is on a weekend",
        "the guard excludes all of them, so it never runs",
        "correct the days, or allow weekends",
        "任务的每个时刻都在周末",
        "守卫会全部排除，它永远不会运行",
        "请改正日期，或允许周末",
    ),
    "always_before_window": Message(
        "no moment of the job is inside its window",
        "the one of {first} waits {length} until it opens, and so do the others",
        "correct one of the two, if that is not meant",
        "任务的时刻都不在窗口内",
        "{first} 的那次要等 {length} 窗口才开，其余也一样",
        "若非本意，请改正其中一个",
    ),
    "success_in_another_zone": Message(
        '"{other}" counts its dates in {zone}, this job in {own}',
        "a success is waited for by its date, and the two may differ",
        "use one zone, or say the date with date:",
        "“{other}”的日期按 {zone} 计，本任务按 {own}",
        "等待的是同一日期的成功，两者可能不同",
        "请用同一时区，或用 date: 写明日期",
    ),
    "rounds_skipped": Message(
        "with missed: all every round is to run, and overlap: skip leaves out those that fall due while one runs",
        "after an absence that is nearly all of them",
        "leave overlap out or write overlap: queue_all (they wait for each other), or overlap: allow",
        "missed: all 表示每一轮都要运行，而 overlap: skip 会跳过运行期间到期的轮次",
        "停机之后几乎全被跳过",
        "请去掉 overlap 或写 overlap: queue_all（各轮依次等待），或写 overlap: allow",
    ),
    "limit_of_seconds": Message(
        "a limit of {value} makes a miss of a start that load alone delays",
        "each of them asks for a person",
        "write 1m or more; missed: skip runs nothing late",
        "{value} 的上限太紧：仅仅因为负载而晚一点就算错过",
        "每次都会要求人工处理",
        "请写 1m 以上；不想补跑请用 missed: skip",
    ),
    "retry_in_step": Message(
        "without jitter all that fail together come back together",
        "",
        "leave jitter out, or write for example 500ms",
        "没有 jitter：一起失败的会一起重来",
        "",
        "请去掉 jitter 一行，或写例如 500ms",
    ),
}
