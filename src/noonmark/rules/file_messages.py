"""What can be wrong with a file as a text: its bytes, its YAML or Python, its top.

Rule of the file: a code is permanent once released.
"""

from __future__ import annotations

from noonmark.rules.message import Message

FILE_MESSAGES: dict[str, Message] = {
    "file_missing": Message(
        "there is no such file",
        "",
        "write it (`noonmark init`) or name another one",
        "没有这个文件",
        "",
        "请新建（`noonmark init`）或指定另一个文件",
    ),
    "file_unreadable": Message(
        "it cannot be read: {error}",
        "",
        "check that it is a file and its permissions",
        "无法读取：{error}",
        "",
        "请检查它是否为文件以及读取权限",
    ),
    "file_not_utf8": Message(
        "it is not UTF-8 text (byte {offset})",
        "another encoding would garble names and keys",
        "save the file as UTF-8",
        "不是 UTF-8 文本（第 {offset} 字节）",
        "其他编码会弄乱名称和键",
        "请把文件另存为 UTF-8",
    ),
    "file_too_large": Message(
        "it has {size} bytes, more than {limit}",
        "reading it would block every start",
        "split the rules into several files",
        "文件有 {size} 字节，超过 {limit}",
        "读取它会拖住每次启动",
        "请拆成多个规则文件",
    ),
    "file_empty": Message(
        "there is nothing in it",
        "a file that was emptied by mistake looks the same, and a rule is taken back by a person: noonmark end JOB",
        "write `version: 1` and `jobs:`, see `noonmark init`",
        "文件是空的",
        "误清空的文件也是这样；而规则须由人收回：noonmark end 任务",
        "请写上 `version: 1` 和 `jobs:`，参见 `noonmark init`",
    ),
    "yaml_syntax": Message(
        "this is not YAML: {error}",
        "",
        "check indentation, quotes and colons just before this place",
        "不是合法的 YAML：{error}",
        "",
        "请检查此处之前的缩进、引号和冒号",
    ),
    "yaml_unquoted": Message(
        "a value that begins with {sign} is not quoted",
        "YAML does not read it as text",
        'quote it, for example cron: "*/5 * * * *"',
        "以 {sign} 开头的值没有加引号",
        "YAML 不会把它当作文本",
        '请加引号，例如 cron: "*/5 * * * *"',
    ),
    "yaml_duplicate_key": Message(
        '"{key}" is written twice, first in line {first}',
        "only one of them could count",
        "remove one of the two",
        "“{key}”写了两次，第一次在第 {first} 行",
        "只能有一个生效",
        "请删去其中一个",
    ),
    "yaml_alias_limit": Message(
        "aliases expand to more than {limit} values",
        "such a file can fill the memory",
        "write the values out, or use fewer aliases",
        "别名展开后超过 {limit} 个值",
        "这样的文件会占满内存",
        "请直接写出这些值，或少用别名",
    ),
    "yaml_value_limit": Message(
        "there are more than {limit} values and names in it",
        "reading it would block every start",
        "split the rules into several files",
        "其中的值和名称超过 {limit} 个",
        "读取它会拖住每次启动",
        "请拆成多个规则文件",
    ),
    "yaml_depth": Message(
        "values are nested deeper than {limit} levels, or contain themselves",
        "",
        "write it flatter",
        "嵌套超过 {limit} 层，或值包含了自身",
        "",
        "请减少嵌套",
    ),
    "yaml_tag": Message(
        "the tag {tag} is not allowed",
        "rules are data, nothing in them is executed",
        "remove the tag",
        "不允许使用标签 {tag}",
        "规则只是数据，不会被执行",
        "请去掉这个标签",
    ),
    "yaml_many_documents": Message(
        "a second document begins here",
        "only the first one would be read",
        "use one file per document",
        "这里开始了第二个文档",
        "只会读取第一个",
        "每个文档请用一个文件",
    ),
    "yaml_version": Message(
        "%YAML {version} is not read here",
        "in YAML 1.1 an unquoted 18:30 is the number 1110",
        "remove the line, files are read as YAML 1.2",
        "不支持 %YAML {version}",
        "在 YAML 1.1 中不加引号的 18:30 是数字 1110",
        "请删去这一行，文件按 YAML 1.2 读取",
    ),
    "key_not_text": Message("the name {value} is not text", "", "quote it", "名称 {value} 不是文本", "", "请加引号"),
    "py_syntax": Message(
        "this is not Python: {error}",
        "",
        "check brackets, quotes and commas",
        "不是合法的 Python：{error}",
        "",
        "请检查括号、引号和逗号",
    ),
    "py_not_literal": Message(
        "this is not a plain value",
        "TASK_RULES is read, never executed",
        "write text, numbers, True, False, None, lists and dicts only",
        "这不是字面值",
        "TASK_RULES 只被读取，绝不执行",
        "只能写文本、数字、True、False、None、列表和字典",
    ),
    "py_not_found": Message(
        "no TASK_RULES = {{...}} in this file",
        "",
        "assign the dict to the name TASK_RULES, once; jobs in code are checked by loading them: noonmark next --app FILE",
        "文件中没有 TASK_RULES = {{...}}",
        "",
        "请把字典赋给 TASK_RULES，且只赋一次；代码里的任务在加载时检查：noonmark next --app 文件",
    ),
    "version_missing": Message(
        "`version` is missing",
        "a later version may read the same words differently",
        "write `version: 1` as the first line",
        "缺少 `version`",
        "以后的版本可能有不同的读法",
        "请在第一行写 `version: 1`",
    ),
    "version_unknown": Message(
        "version {value} is not known here",
        "",
        "write `version: 1`, or update noonmark",
        "不认识版本 {value}",
        "",
        "请写 `version: 1`，或升级 noonmark",
    ),
    "jobs_missing": Message(
        "`jobs` is missing",
        "a file without jobs would silently end every job",
        "write `jobs:`; `jobs: {{}}` says that there are none",
        "缺少 `jobs`",
        "没有任务的文件会悄悄停掉所有任务",
        "请写 `jobs:`；`jobs: {{}}` 表示确实没有",
    ),
    "too_many_jobs": Message(
        "{count} jobs, more than {limit}",
        "",
        "split them, or use `each:`",
        "有 {count} 个任务，超过 {limit}",
        "",
        "请拆分，或使用 `each:`",
    ),
    "bad_job_name": Message(
        '"{value}" cannot be a job\'s name',
        "it becomes part of keys and commands: letters, digits, `_`, `-`, `.`, at most 128, no other signs",
        'write for example "{suggestion}"',
        "“{value}”不能作任务名",
        "名称会成为键和命令的一部分：字母、数字、`_`、`-`、`.`，最多 128 个字符",
        "例如写成“{suggestion}”",
    ),
}

SHAPE_MESSAGES: dict[str, Message] = {
    "unknown_field": Message(
        "no field of this name here",
        "a misspelt rule would silently not hold",
        "{hint}",
        "这里没有这个字段",
        "拼错的规则会悄悄失效",
        "{hint_zh}",
    ),
    "later_field": Message(
        "not in this version yet",
        "a limit that is not enforced must not look as if it were",
        "remove it for now",
        "此版本尚不支持",
        "不生效的限制不能看起来像是生效的",
        "请暂时去掉",
    ),
    "later_value": Message(
        '"{value}": not in this version yet',
        "",
        "use one of: {choices}",
        "“{value}”：此版本尚不支持",
        "",
        "请用：{choices}",
    ),
    "said_twice": Message(
        'says the same as "{other}"',
        "only one of them could count",
        "keep one of the two",
        "与“{other}”重复",
        "只能有一个生效",
        "请保留其中一个",
    ),
    "wrong_type": Message(
        "expected {wanted}, got {got}", "", "{hint}", "应为{wanted_zh}，实际是{got_zh}", "", "{hint_zh}"
    ),
    "no_value": Message("it has no value", "", "write one, or remove the line", "没有值", "", "请写上值，或删去这一行"),
    "field_missing": Message("it is missing", "", "add it", "缺少此字段", "", "请补上"),
    "time_not_quoted": Message(
        "the time {value} is not quoted",
        "other YAML readers turn an unquoted 18:30 into the number 1110",
        'did you mean "{suggestion}"? quote it',
        "时间 {value} 没有加引号",
        "别的 YAML 读取器会把不加引号的 18:30 变成数字 1110",
        '是否想写 "{suggestion}"？请加引号',
    ),
    "duration_not_text": Message(
        "{value} has no unit",
        "seconds, minutes and milliseconds look alike",
        'write for example "{value}s" or "{value}m"',
        "{value} 没有单位",
        "秒、分、毫秒无法区分",
        '例如写成 "{value}s" 或 "{value}m"',
    ),
    "bad_duration": Message(
        '"{value}" is not a length of time: {error}', "", "", "“{value}”不是时长：{error}", "", "例如写 30s、5m、1h30m"
    ),
    "bad_choice": Message(
        '"{value}" is none of: {choices}', "", "{hint}", "“{value}”不在可选值中：{choices}", "", "{hint_zh}"
    ),
    "out_of_range": Message(
        "{value} is out of range: {error}", "", "choose another value", "{value} 超出范围：{error}", "", "请换一个值"
    ),
    "bad_value": Message("{error}", "", "correct it", "{error}", "", "请改正"),
}
