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
}
