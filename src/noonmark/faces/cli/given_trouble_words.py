"""What is said about arguments that cannot be taken as what they are meant to be.

Rule of the file: only text; it is a part of ``trouble_words.TROUBLES``.
"""

from __future__ import annotations

from noonmark.faces.cli.demo_trouble_words import Words

GIVEN_TROUBLES: dict[str, tuple[Words, Words]] = {
    "not_utf8": (
        (
            "an argument is no text: {shown}",
            "its bytes are not UTF-8; with others in their place it would name something else",
            "write it in UTF-8, for one in a terminal whose locale is UTF-8",
        ),
        (
            "有一个参数不是文本：{shown}",
            "它的字节不是 UTF-8；替换后就成了别的名字",
            "请用 UTF-8 书写，例如在 UTF-8 的终端里",
        ),
    ),
    "bad_json": (
        (
            "{option} {text} begins as JSON and is none: {error}",
            "taken as a text it would be another value than the one that was meant",
            "mend it, or quote a text as JSON: {option} '\"…\"'",
        ),
        (
            "{option} {text} 以 JSON 开头却不是 JSON：{error}",
            "当作文本就成了另一个值",
            "请改正；若要文本，请写成 JSON 文本：{option} '\"…\"'",
        ),
    ),
}
