"""What the stores on servers complain about, in Chinese; a part of ``errors_zh.py``.

Rule of the file: the patterns follow the English texts where they are raised (``stores/postgres``, ``stores/redis``), which
a test holds.  A reason may be followed by what the server said, in parentheses; that is never touched.
"""

from __future__ import annotations

import re

_REASONS = {
    # -- PostgreSQL: passing
    "it is read-only just now": "它目前只读",
    "our transaction was idle for too long and was ended": "本进程的事务闲置过久而被终止",
    "its disk is full; nothing of the last change was kept": "它的磁盘已满；最后一次改动没有保存",
    "it is out of memory": "它的内存不足",
    "it has too many connections": "它的连接数过多",
    "another transaction holds a lock for too long": "另一个事务占用锁过久",
    "a statement took too long and was cancelled": "语句执行过久而被取消",
    "it is shutting down": "它正在关闭",
    "it crashed and is recovering": "它曾崩溃，正在恢复",
    "it is starting up": "它正在启动",
    "other transactions kept coming in between": "其他事务不断插入其间",
    "the connection is gone": "连接已断开",
    "every connection of this process is busy": "本进程的所有连接都在忙",
    "it is a standby, which only replays another server": "它是备机，只重放另一台服务器",
    # -- PostgreSQL: lasting
    "it refuses the credentials": "它拒绝了用户名或密码",
    "there is no such database": "没有这个数据库",
    "its pg_hba.conf lets nobody in like this": "它的 pg_hba.conf 不允许这样连接",
    "it speaks no TLS, which the URL requires": "它不支持 URL 所要求的 TLS",
    "the certificates do not fit": "证书不符",
    "what listens there is no PostgreSQL server": "那里监听的不是 PostgreSQL 服务器",
    "an option of the URL has a value that is not possible": "URL 中某个选项的值不可用",
    "the user lacks a right": "该用户缺少权限",
    "the schema is not there": "schema 不存在",
    "a table of the schema is missing": "schema 中缺少表",
    "a column of the schema is missing": "schema 中缺少列",
    "a pooler gives its sessions to others in between": "连接池在中间把会话给了别人",
    "its data is damaged": "它的数据已损坏",
    "an index is damaged": "索引已损坏",
    # -- Redis: passing
    "the server is loading its data": "服务器正在加载数据",
    "this server is a replica now": "该服务器现在是副本",
    "the replica has lost its primary": "副本失去了主节点",
    "the cluster does not serve this slot": "集群不提供该槽位",
    "the cluster is moving this slot": "集群正在迁移该槽位",
    "the cluster has moved this slot": "集群已迁移该槽位",
    "the server is busy with a script": "服务器正忙于执行脚本",
    "too few replicas are in step (min-replicas-to-write)": "同步的副本太少（min-replicas-to-write）",
    "the server cannot save its data and refuses writes; look at its log and its disk": (
        "服务器无法保存数据，因此拒绝写入；请查看其日志和磁盘"
    ),
    "the server has forgotten a script": "服务器忘记了脚本",
    "a failover interrupted the wait for a replica": "等待副本时发生了故障切换",
    # -- Redis: lasting
    "it asks for a password": "它要求密码",
    "user name or password are wrong": "用户名或密码错误",
    "its certificate is not trusted": "它的证书不受信任",
    "the sentinels refuse the credentials": "sentinel 拒绝了用户名或密码",
    "its memory is full": "它的内存已满",
    "a key of this namespace holds something else": "该命名空间的键存着别的内容",
    "it has no database of this number": "没有这个编号的数据库",
    "it does not know a command that is needed": "它不认识所需的命令",
    "it is no cluster": "它不是集群",
    "it is no sentinel": "它不是 sentinel",
}
_REMEDIES = {
    "If this lasts, name the primary server in the URL.": "若持续如此，请在 URL 中写主服务器。",
    "Was this process stopped meanwhile?": "本进程是否曾被暂停？",
    "Free some space on the server.": "请在服务器上腾出空间。",
    "Look at the server's log.": "请查看服务器日志。",
    "Raise max_connections there, or lower pool_size in the URL.": "请提高 max_connections，或降低 URL 中的 pool_size。",
    "Look for it: SELECT * FROM pg_stat_activity.": "请查找：SELECT * FROM pg_stat_activity。",
    "Is the server overloaded?": "服务器是否过载？",
    "Start it again.": "请重新启动它。",
    "Wait a moment.": "请稍候。",
    "Repeat.": "请重试。",
    "Is the server running, and is this its address?": "服务器是否在运行，地址是否正确？",
    "Add pooler=transaction to the URL.": "请在 URL 中加上 pooler=transaction。",
    "Raise pool_size in the URL.": "请提高 URL 中的 pool_size。",
    "Name the primary server.": "请写主服务器。",
    "Check user and password in the URL, and pg_hba.conf on the server.": (
        "请检查 URL 中的用户和密码，以及服务器上的 pg_hba.conf。"
    ),
    "Create it (createdb NAME), or name another in the URL.": "请创建它（createdb 名称），或在 URL 中写另一个。",
    "Grant it, or let the schema's owner run noonmark store migrate, and write migrate=no into this URL.": (
        "请授予该权限，或由 schema 所有者执行 noonmark store migrate，并在此 URL 中写 migrate=no。"
    ),
    "Add a line for this user, database, address and encryption there and reload it, or change the URL (sslmode).": (
        "请在其中为该用户、数据库、地址和加密方式加一行并重新加载，或修改 URL（sslmode）。"
    ),
    "Turn ssl on there, or leave sslmode out of the URL.": "请在服务器上打开 ssl，或从 URL 去掉 sslmode。",
    "Check sslrootcert, sslcert and sslkey in the URL, and the host's name.": (
        "请检查 URL 中的 sslrootcert、sslcert 和 sslkey，以及主机名。"
    ),
    "Correct host and port in the URL.": "请在 URL 中改正主机和端口。",
    "Correct it in the URL.": "请在 URL 中改正。",
    "Run: noonmark store migrate.": "请执行：noonmark store migrate。",
    "Was it dropped?  Restore it from a backup, or make an empty one: noonmark store migrate.": (
        "是否被删除？请从备份恢复，或新建一个空的：noonmark store migrate。"
    ),
    "Restore the database from a backup.": "请从备份恢复数据库。",
    "REINDEX the schema, and look for the cause in the server's log.": "请 REINDEX 该 schema，并在服务器日志中查找原因。",
    "Run noonmark store migrate as the schema's owner (--sql prints what it would do).": (
        "请以 schema 所有者执行 noonmark store migrate（--sql 可先打印内容）。"
    ),
    "Upgrade noonmark on this machine.": "请升级本机的 noonmark。",
    "Give noonmark a schema of its own: ?schema=NAME.": "请给 noonmark 单独的 schema：?schema=名称。",
    "noonmark needs version 14 or newer.": "noonmark 需要 14 或更新版本。",
    "Create one with: createdb --encoding=UTF8 --template=template0 NAME.": (
        "请创建：createdb --encoding=UTF8 --template=template0 名称。"
    ),
    "Look into it yourself.": "请自行查看。",
    "Write it into the URL: redis://user:password@host:6379/0.": "请写进 URL：redis://用户:密码@主机:6379/0。",
    "Correct them in the URL.": "请在 URL 中改正。",
    "Grant it: ACL SETUSER name ~noonmark:* &noonmark:* ~lock:* ~fence:* +@all -@dangerous +info +config|get.": (
        "请授予：ACL SETUSER 名称 ~noonmark:* &noonmark:* ~lock:* ~fence:* +@all -@dangerous +info +config|get。"
    ),
    "Name the authority that signed it (ssl_ca_certs=FILE), and the host as the certificate does.": (
        "请写出签发它的机构（ssl_ca_certs=文件），主机名须与证书一致。"
    ),
    "Write sentinel_username and sentinel_password into the URL.": "请在 URL 中写 sentinel_username 和 sentinel_password。",
    "Name one of those in the URL.": "请在 URL 中写其中之一。",
    "Write redis:// in the URL, or name the TLS port.": "请在 URL 中写 redis://，或写 TLS 端口。",
    "Write rediss:// in the URL (and ssl_ca_certs=FILE).": "请在 URL 中写 rediss://（以及 ssl_ca_certs=文件）。",
    "Raise maxmemory, or remove what else lives in this server; nothing of the last change was kept.": (
        "请提高 maxmemory，或清理该服务器上的其他内容；最后一次改动没有保存。"
    ),
    "Choose another namespace: ...?namespace=name.": "请换一个命名空间：...?namespace=名称。",
    "Use Redis 6.2 or newer, or Valkey.": "请使用 Redis 6.2 或更新版本，或 Valkey。",
    "Write redis:// (or rediss://) in the URL.": "请在 URL 中写 redis://（或 rediss://）。",
    "Name the sentinels and their port (26379), or write redis://.": "请写 sentinel 及其端口（26379），或写 redis://。",
    "Name another one: redis://host:6379/0.": "请换一个：redis://主机:6379/0。",
    "Open it again in the new process.": "请在新进程中重新打开。",
    "Name a namespace that is not there yet: ...?namespace=name.": "请换一个还不存在的命名空间：...?namespace=名称。",
    "Name a schema that is not there yet: ...?schema=name.": "请换一个还不存在的 schema：...?schema=名称。",
    "Upgrade noonmark on this machine, or name another namespace.": "请升级本机的 noonmark，或换一个命名空间。",
}
_OTHERS: tuple[tuple[str, str], ...] = (
    (
        r"there is no noonmark in the (schema|namespace) (.+) \(there are: (.+)\)",
        r"\1 \2 中没有 noonmark（这里有：\3）",
    ),
    (
        r"there is no noonmark in the (schema|namespace) (.+) \(nor in any other\)",
        r"\1 \2 中没有 noonmark（其他的里面也没有）",
    ),
    (
        r"Looking makes none: name the right one \((\?\w+=)NAME\), or begin here: noonmark store migrate, or a worker\.",
        r"查看从不新建：请写对名称（\1名称），或从这里开始：noonmark store migrate，或启动 worker。",
    ),
    (r"the schema (.+) has tables of somebody else", r"schema \1 中有别人的表"),
    (r"the schema (.+) has tables of somebody else \((.+)\)", r"schema \1 中有别人的表（\2）"),
    (r"its schema (.+) has version (.+), this noonmark needs (.+)", r"其 schema \1 的版本是 \2，本 noonmark 需要 \3"),
    (
        r"its schema was written by a newer noonmark \(it can be read from version (.+) on, this one knows (.+)\)",
        r"其 schema 由更新的 noonmark 写入（版本 \1 起可读，本版本只到 \2）",
    ),
    (r"the server is PostgreSQL (.+)", r"服务器是 PostgreSQL \1"),
    (r"the database's encoding is (.+), which cannot hold every text", r"数据库编码是 \1，无法保存所有文字"),
    (r"PostgreSQL cannot hold this value: (.+)", r"PostgreSQL 无法保存这个值：\1"),
    (
        r"its namespace was written by a newer noonmark \(shape (.+), this one knows (.+)\)",
        r"其命名空间由更新的 noonmark 写入（结构版本 \1，本版本只到 \2）",
    ),
    (
        r"only (\d+) of (\d+) replicas confirmed the write in time \((.+)\); is a replica away, or its link down\?",
        r"\2 个副本中只有 \1 个及时确认了写入（\3）；是否有副本离线或链路中断？",
    ),
    (
        r"the server's disk did not confirm the write in time; is it full or busy\?",
        "服务器的磁盘没有及时确认写入；是否已满或过忙？",
    ),
    (r"(\S+) speaks without TLS", r"\1 不使用 TLS"),
    (r"(\S+) speaks TLS only", r"\1 只使用 TLS"),
    (r"no sentinel names a primary of (.+) \((.+)\)", r"没有 sentinel 给出 \1 的主节点（\2）"),
    (r"the sentinels know no service (.+) \(they know: (.+)\)", r"sentinel 不知道服务 \1（它们知道：\2）"),
    (r"only (\d+) of (\d+) replicas answer \((.+)\)", r"\2 个副本中只有 \1 个应答（\3）"),
    (
        r"(\S+) is (\S+); this store keeps instants until the year 2255 and numbers below 2\*\*53",
        r"\1 是 \2；该存储只保存 2255 年之前的时刻和小于 2**53 的数",
    ),
    # -- URLs
    (r"schema=(.+) is no possible name: (.+)", r"schema=\1 不是可用的名称：\2"),
    (r"one to (\d+) bytes, no NUL character", r"应为 1 到 \1 字节，且没有 NUL 字符"),
    (
        r"schema=(.+) belongs to PostgreSQL itself; choose another, such as noonmark",
        r"schema=\1 属于 PostgreSQL 自己；请换一个，如 noonmark",
    ),
    (
        r"this is no PostgreSQL URL: (.+); write (\S+), with special characters in a password percent-encoded",
        r"这不是 PostgreSQL URL：\1；请写 \2，密码中的特殊字符用百分号编码",
    ),
    (
        r"pool_size=(.*) is not possible; write a number from 1 to (\d+)",
        r"pool_size=\1 不可用；请写 1 到 \2 的数字",
    ),
    (
        r"durability=(.*) is not possible; use host \(.+\) or failover \(.+\), or leave it out",
        r"durability=\1 不可用；请用 host（等待服务器落盘）或 failover（还等待副本收到），或去掉它",
    ),
    (r"replicas=(.*) is not possible; write a number of at least 1", r"replicas=\1 不可用；请写至少为 1 的数字"),
    (
        r"replicas=N says how many durability=failover waits for; write both or neither",
        "replicas=N 表示 durability=failover 等待几个副本；请两个都写或都不写",
    ),
    (
        r"timeout=(.*) is not possible; write seconds between 0\.1 and 300",
        r"timeout=\1 不可用；请写 0.1 到 300 之间的秒数",
    ),
    (
        r"(\w+)=(.*) is not possible; write the path of a file that is there",
        r"\1=\2 不可用；请写一个存在的文件的路径",
    ),
    (r"(\w+)=(.*) is not possible; write (.+)", r"\1=\2 不可用；请写 \3"),
    (r'(".*") names no Redis server; known: (.+)', r"\1 不是 Redis 服务器；可用：\2"),
    (r"the URL names no host; write (\S+)", r"URL 没有主机；请写 \1"),
    (
        r"redis:// takes one host; several are redis\+sentinel:// or redis\+cluster://",
        "redis:// 只写一台主机；多台请用 redis+sentinel:// 或 redis+cluster://",
    ),
    (
        (
            r"this URL cannot be read; special characters in a user name or a password have to be percent-encoded:"
            r" (%2F) for /, (%3F) for \?, (%23) for #, (%40) for @"
        ),
        r"无法读取该 URL；用户名或密码中的特殊字符须用百分号编码：/ 写 \1，? 写 \2，# 写 \3，@ 写 \4",
    ),
    (r'(".*") is no host:port; write (\S+)', r"\1 不是 主机:端口；请写 \2"),
    (
        r"the URL names no service; write (\S+) \(the name the sentinels know\)",
        r"URL 没有写服务名；请写 \1（sentinel 所知的名称）",
    ),
    (r'(".*") is no database number; write (\S+)', r"\1 不是数据库编号；请写 \2"),
    (r"a cluster has one database only; leave the number out", "集群只有一个数据库；请去掉编号"),
    (
        r'postgresql has no option (".*"); did you mean (.+)\? known: (.+)',
        r"postgresql 没有选项 \1；是否想写 \2？可用：\3",
    ),
    (r'postgresql has no option (".*"); known: (.+)', r"postgresql 没有选项 \1；可用：\2"),
    (r'redis has no option (".*"); did you mean (.+)\? known: (.+)', r"redis 没有选项 \1；是否想写 \2？可用：\3"),
    (r'redis has no option (".*"); known: (.+)', r"redis 没有选项 \1；可用：\2"),
    (
        r'namespace (".*") is not possible; use letters, digits, "\.", "_" and "-", at most 64',
        r'namespace \1 不可用；请用字母、数字、"."、"_" 和 "-"，最多 64 个',
    ),
)

SERVER_ERRORS: tuple[tuple[str, str], ...] = (
    *((re.escape(text), chinese) for text, chinese in (_REASONS | _REMEDIES).items()),
    *((rf"{re.escape(text)} \((.+)\)", rf"{chinese}（\1）") for text, chinese in _REASONS.items()),
    *_OTHERS,
)
