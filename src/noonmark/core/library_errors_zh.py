"""What YAML, JSON and Python say of a text that they cannot read, in Chinese; a part of ``errors_zh.py``.

Rule of the file: the signs that were met stay as they stand in the text.
"""

from __future__ import annotations

_TOKENS = {
    "<stream end>": "文件结尾",
    "<document start>": "文档开头“---”",
    "<document end>": "文档结尾“...”",
    "<block end>": "更浅的缩进",
    "<block mapping start>": "缩进的映射",
    "<block sequence start>": "缩进的列表",
    "<scalar>": "文本",
    "<alias>": "引用",
    "<anchor>": "锚点",
    "<tag>": "标签",
}
_KINDS = {"mapping": "映射", "sequence": "列表", "collection": "列表", "node": "内容"}

_JSON_PLACE = r"line (\d+) column (\d+) \(char \d+\)"

LIBRARY_ERRORS: tuple[tuple[str, str], ...] = (
    # -- YAML says what it was at and what it met
    (r"(while (?:parsing|scanning|composing|constructing) (?:an?|the|for the next) [\w \-]+), (.+)", r"\1，\2"),
    *((rf"while parsing a block {name}", f"在读按缩进写的{kind}时") for name, kind in _KINDS.items()),
    *((rf"while parsing a flow {name}", f"在读写在括号里的{kind}时") for name, kind in _KINDS.items()),
    (r"while parsing a node", "在读内容时"),
    (r"while (?:composing|constructing) a mapping", "在读映射时"),
    (r"while scanning a simple key", "在读键时"),
    (r"while scanning a (?:double-)?quoted scalar", "在读引号里的文本时"),
    (r"while scanning a plain scalar", "在读不带引号的文本时"),
    (r"while scanning a block scalar", "在读多行文本时"),
    (r"while scanning for the next token", "在此处"),
    (r"while scanning a directive", "在读指令时"),
    (r"while (?:scanning|parsing) a tag", "在读标签时"),
    (r"while (?:scanning|parsing) an anchor", "在读锚点时"),
    (r"while (?:scanning|parsing) an alias", "在读引用时"),
    (r"expected <block end>, but found (.+)", r"缩进与上文不符，遇到 \1"),
    (r"expected the node content, but found (.+)", r"缺少内容，遇到 \1"),
    (r"expected ',' or '(.)', but got (.+)", r"应为“,”或“\1”，遇到 \2"),
    (r"expected '<document start>', but found (.+)", r"开头的内容之后遇到 \1"),
    (r"could not find expected ':'", "缺少“:”"),
    (r"found unexpected ':'", "多出“:”；带“:”的值要加引号"),
    (r"found unexpected end of stream", "文件到此为止，引号没有收尾"),
    (r"found unexpected document separator", "引号没有收尾就遇到“---”或“...”"),
    (r"mapping values are not allowed here", "此处不能有“:”；带“:”的值要加引号"),
    (r"mapping keys are not allowed here", "此处不能有键"),
    (r"sequence entries are not allowed here", "此处不能有“-”"),
    (r"invalid intendation or unclosed '\[' or '\{'", "缩进不对，或“[”“{”没有收尾"),
    (r"found character '(.+)' that cannot start any token", r"值不能以“\1”开头；请加引号，缩进请用空格"),
    (r"found unknown escape character '(.+)'", r"双引号里不认识转义“\\\1”"),
    (r"found undefined alias '(.+)'", r"没有名为“\1”的锚点"),
    (r"found undefined tag handle '(.+)'", r"不认识标签 \1"),
    (r"found unhashable key", "映射或列表不能作键"),
    (r"found duplicate YAML directive", "%YAML 指令写了两次"),
    (r"expected alphabetic or numeric character, but found (.+)", r"应为字母或数字，遇到 \1"),
    (r"expected a comment or a line break, but found (.+)", r"应为注释或换行，遇到 \1"),
    (r"expected escape sequence of (\d+) hexdecimal numbers, but found (.+)", r"转义后应有 \1 位十六进制数，遇到 \2"),
    (r"expected chomping or indentation indicators, but found (.+)", r"“|”或“>”之后不能有 \1"),
    *((f"'{token}'", said) for token, said in _TOKENS.items()),
    # -- JSON
    (r"Expecting value: " + _JSON_PLACE, r"第 \1 行第 \2 列：缺少值"),
    (r"Expecting property name enclosed in double quotes: " + _JSON_PLACE, r"第 \1 行第 \2 列：属性名要用双引号"),
    (r"Expecting '(.)' delimiter: " + _JSON_PLACE, r"第 \2 行第 \3 列：缺少“\1”"),
    (r"Extra data: " + _JSON_PLACE, r"第 \1 行第 \2 列：结尾之后还有内容"),
    (r"Unterminated string starting at: " + _JSON_PLACE, r"第 \1 行第 \2 列：文本没有收尾的双引号"),
    (r"Invalid control character at: " + _JSON_PLACE, r"第 \1 行第 \2 列：文本里有控制字符"),
    (r"Invalid \\.*: " + _JSON_PLACE, r"第 \1 行第 \2 列：转义写得不对"),
    (r"Illegal trailing comma before end of (?:object|array): " + _JSON_PLACE, r"第 \1 行第 \2 列：末尾多一个逗号"),
    # -- Python
    (r"invalid syntax", "语法错误"),
    (r"invalid syntax\. Perhaps you forgot a comma\?", "语法错误；是否少了逗号？"),
    (r"'(.)' was never closed", r"“\1”没有收尾"),
    (r"unmatched '(.)'", r"多出“\1”"),
    (r"closing parenthesis '(.)' does not match opening parenthesis '(.)'(?: on line \d+)?", r"“\1”与“\2”不成对"),
    (r"unterminated (?:triple-quoted )?string literal \(detected at line \d+\)", "引号没有收尾"),
    (r"unexpected indent", "缩进多了"),
    (r"unindent does not match any outer indentation level", "缩进与上文不符"),
    (r"expected an indented block after .+", "缺少缩进的内容"),
    (r"expected ':'", "缺少“:”"),
    (r"':' expected after dictionary key", "字典的键之后缺少“:”"),
    (r"invalid character '(.)' \(U\+\w+\)", r"代码里不能有“\1”"),
)
