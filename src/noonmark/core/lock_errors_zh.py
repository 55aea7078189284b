"""What lock services complain about, in Chinese; a part of ``errors_zh.py``.

Rule of the file: the patterns follow the English texts where they are raised (``locks/``, ``engine/joblocks.py``), which a
test holds.  What a server itself said stands where it stood, untouched.
"""

from __future__ import annotations

LOCK_ERRORS: tuple[tuple[str, str], ...] = (
    # while a job asks
    (r"this worker was started without a way to outside locks", "该 worker 启动时没有连接外部锁的途径"),
    (r"it did not answer in time and is asked again in a few seconds", "没有及时应答，几秒后再次询问"),
    (r"no answer within (\S+) s", r"\1 秒内没有应答"),
    (
        r"(\S+) does not answer: (.+[?!]) It may have been done all the same; a lock frees itself after its ttl\.",
        r"\1 没有应答：\2 所求之事可能已经完成；锁在 ttl 之后会自行释放。",
    ),
    (
        r"(\S+) does not answer: (.+?)\.? It may have been done all the same; a lock frees itself after its ttl\.",
        r"\1 没有应答：\2。所求之事可能已经完成；锁在 ttl 之后会自行释放。",
    ),
    (
        r"(\S+) does not answer: an earlier call with this token is still under way\.",
        r"\1 没有应答：同一令牌的上次请求还未结束。",
    ),
    (r"(\S+) refuses to serve locks: (.+)\. (.+)", r"\1 拒绝提供锁：\2。\3"),
    (r"(\S+) refuses to serve locks: (.+)", r"\1 拒绝提供锁：\2"),
    (
        r"(\S+) answered too late, or the session was lost meanwhile; the lock frees itself\.",
        r"\1 应答太迟，或会话已丢失；锁会自行释放。",
    ),
    (
        r"(\S+) answered so slowly that nothing of the ttl was left; ask for a longer one",
        r"\1 应答太慢，ttl 已用尽；请用更长的 ttl",
    ),
    (
        r"(\S+): only (\d+) of (\d+) servers answered in time, (\d+) are needed \((.*)\)\.",
        r"\1：\3 台服务器中只有 \2 台及时应答，需要 \4 台（\5）。",
    ),
    (
        r"(\S+) was opened before this process was forked; open it again in the new process",
        r"\1 是在本进程 fork 之前打开的；请在新进程中重新打开",
    ),
    (
        r"(\S+) cannot be used here: gRPC, by which etcd is spoken to, does not work in a process .+",
        (
            r"此处不能使用 \1：连接 etcd 所用的 gRPC 在 fork 出的进程中无法工作。"
            "请重新启动进程（subprocess、multiprocessing 的 spawn），或只在 fork 之后取锁。"
        ),
    ),
    (r"the locks at (\S+) were closed; open them again", r"\1 的锁已关闭；请重新打开"),
    (r"(\S+) was closed in this process; open it again", r"\1 已在本进程中关闭；请重新打开"),
    (
        r"(\S+) is a pooler, and an advisory lock belongs to a session of the server; leave kind=advisory away, or .+",
        r"\1 是连接池，而 advisory 锁属于服务器的会话；请去掉 kind=advisory，或直接连接服务器",
    ),
    (r"(\S+) answered so late that the lock was over; ask for a longer ttl", r"\1 应答太迟，锁已到期；请用更长的 ttl"),
    (
        r"a ttl of (.+) µs is not possible: write at least 10 ms, and at most a hundred years",
        r"ttl 不能是 \1 微秒：至少 10 毫秒，至多一百年",
    ),
    (r"a lock's (\w+) is empty; write what it stands for", r"锁的 \1 为空；请写明它代表什么"),
    (r"a lock's (\w+) must not contain NUL characters", r"锁的 \1 不能含 NUL 字符"),
    (r"a lock's (\w+) has (\d+) bytes; at most (\d+) are possible", r"锁的 \1 有 \2 字节；最多 \3 字节"),
    (r"a lock's (\w+) must be text that UTF-8 can write: (.+)", r"锁的 \1 必须是 UTF-8 能表示的文本：\2"),
    (r'(".*") is no plain table name; write one like (\S+) or (\S+)', r"\1 不是普通的表名；请写成 \2 或 \3"),
    (
        r"memory:// was opened before this process was forked, and the two no longer know of each other; .+",
        "memory:// 是在本进程 fork 之前打开的，两者已互不相知；进程之间的锁请用 sqlite:///",
    ),
    (r"in a cluster a lock's name cannot have a lone or empty brace: (.+)", r"集群中锁名不能有单独或为空的花括号：\1"),
    (
        r"(\S+) does not answer: another process holds its write lock for too long\.",
        r"\1 没有应答：另一个进程占用写锁过久。",
    ),
    (
        r"cannot keep locks in (.+): it is no SQLite database\. Name another file\.",
        r"无法在 \1 中保存锁：它不是 SQLite 数据库。请换一个文件。",
    ),
    (
        r"cannot keep locks in (.+): this process has another boot-time clock than the others\. Run it without that\.",
        r"无法在 \1 中保存锁：本进程的开机时钟与其他进程的不同。请去掉改变时钟的东西再运行。",
    ),
    (r"cannot keep locks in (.+): the disk is full\. Free some space\.", r"无法在 \1 中保存锁：磁盘已满。请腾出空间。"),
    (
        r"cannot keep locks in (.+): it is damaged \((.+)\)\. Restore it from a backup\.",
        r"无法在 \1 中保存锁：它已损坏（\2）。请从备份恢复。",
    ),
    (
        r"cannot keep locks in (.+): it is a directory\. Name a file inside it\.",
        r"无法在 \1 中保存锁：它是目录。请写出其中的文件。",
    ),
    (
        r"cannot keep locks in (.+): it is a database of another program\. Name another file\.",
        r"无法在 \1 中保存锁：它是别的程序的数据库。请换一个文件。",
    ),
    (
        r"cannot keep locks in (.+): (.+)\. Check that its folder exists and is writable\.",
        r"无法在 \1 中保存锁：\2。请检查其目录存在且可写。",
    ),
    (r"(\S+) does not answer: no connection within (\S+) s\.", r"\1 没有应答：\2 秒内未能连接。"),
    (
        r"(\S+) does not let us keep locks \((.+)\)\. Check user and password in the URL, and the rights on (\S+)\.",
        r"\1 不允许保存锁（\2）。请检查 URL 中的用户和密码，以及 \3 的权限。",
    ),
    (r"(\S+) refuses us\. Check user and password in the URL\.", r"\1 拒绝了连接。请检查 URL 中的用户和密码。"),
    (r"a later call with the same token is under way", "同一令牌的后一次请求正在进行"),
    # URLs
    (
        r"kind=advisory needs a session of its own, and pooler=transaction says that sessions are shared; .+",
        "kind=advisory 需要独占会话，而 pooler=transaction 表示会话共享；请去掉其中之一",
    ),
    (r"(.+) names no etcd; write (\S+)", r"\1 没有指明 etcd；请写 \2"),
    (r"(.+) names no ZooKeeper; write (\S+)", r"\1 没有指明 ZooKeeper；请写 \2"),
    (r"(.+) has a path, and etcd has none; write (\S+)", r"\1 带有路径，而 etcd 没有路径；请写 \2"),
    (
        r"the lock URL has (\d+) characters, more than (\d+); a URL names one place",
        r"锁的 URL 有 \1 个字符，多于 \2 个；一个 URL 只指明一处",
    ),
    (
        r"the URL cannot be read: it has (\d+) characters, more than (\d+)",
        r"无法读取该 URL：它有 \1 个字符，多于 \2 个",
    ),
    (
        r"the URL cannot be read: it has signs that cannot be shown; percent-encode them, or leave them out",
        "无法读取该 URL：其中有无法显示的字符；请用百分号编码，或去掉它们",
    ),
    (r"the URL cannot be read: (.+)", r"无法读取该 URL：\1"),
    (r"(\S+) cannot be read: Invalid IPv6 URL", r"无法读取 \1：IPv6 地址不正确"),
    (r"(\S+) cannot be read: (.+)", r"无法读取 \1：\2"),
    (
        r"(\S+) cannot be read; it has %-signs that spell no UTF-8; write % itself as %25",
        r"无法读取 \1：其中的 % 不是 UTF-8 编码；% 本身请写成 %25",
    ),
    (r'(\S+) has a "#", which begins nothing here; write it as %23', r"\1 含有“#”，它在此处没有意义；请写成 %23"),
    (
        r"the lock URL has a character that cannot be seen; write it anew, or as %XX",
        "锁 URL 含有看不见的字符；请重新写，或写成 %XX",
    ),
    (
        r"the lock URL is empty; write one, for example (\S+), or leave it out: .+",
        (
            r"锁 URL 为空；请写一个，例如 \1，或者不写："
            "那时依次取 NOONMARK_LOCK_URL、NOONMARK_URL、本机的 SQLite 文件"
        ),
    ),
    (r"the URL names no host; write (\S+)", r"URL 没有指明主机；请写 \1"),
    (
        r'the option (".*") stands twice in the URL, and only one of the two could count; write it once',
        r"URL 中选项 \1 写了两次，只能有一个生效；请只写一次",
    ),
    (r'the option (".*") has no value; write (\S+), or leave it out', r"选项 \1 没有值；请写 \2，或去掉它"),
    (r'(\S+) has no option (".*"); did you mean (\S+)\? known: none', r"\1 没有选项 \2；是否想写 \3？没有可用的选项"),
    (r'(\S+) has no option (".*"); known: none', r"\1 没有选项 \2；没有可用的选项"),
    (
        r'(\S+) has no option (".*"); did you mean (\S+)\? known: (.+), and libpq\'s own',
        r"\1 没有选项 \2；是否想写 \3？可用：\4，以及 libpq 自己的选项",
    ),
    (r'(\S+) has no option (".*"); known: (.+), and libpq\'s own', r"\1 没有选项 \2；可用：\3，以及 libpq 自己的选项"),
    (r'(\S+) has no option (".*"); did you mean (\S+)\? known: (.+)', r"\1 没有选项 \2；是否想写 \3？可用：\4"),
    (r'(\S+) has no option (".*"); known: (.+)', r"\1 没有选项 \2；可用：\3"),
    (
        r'there is no kind (".*") of lock in PostgreSQL; write kind=advisory for session locks, or leave it out for .+',
        r"PostgreSQL 没有 \1 这种锁；会话锁请写 kind=advisory，租约行则不写",
    ),
    (r'(".*") is no port; write (\S+)', r"\1 不是端口；请写 \2"),
    (
        r"memory:// has no name and no options: its locks are this process's; write (\S+) or (\S+)",
        r"memory:// 没有名字也没有选项：它的锁只属于本进程；请写 \1 或 \2",
    ),
    (r"(\S+) takes one host; several are (\S+), (\S+) or (\S+)", r"\1 只写一台主机；多台请用 \2、\3 或 \4"),
    (r"a cluster has one database only; leave the number out", "集群只有一个数据库；请去掉编号"),
    (
        r"ssl_cert_reqs=(.*) means nothing; write none, optional or required",
        r"ssl_cert_reqs=\1 不可用；请写 none、optional 或 required",
    ),
    (
        r"session=(.*) is too short; write at least 100ms, for example (\S+)",
        r"session=\1 不可用；至少 100 毫秒，例如 \2",
    ),
    (r"session=(.*) is not possible: (.+)", r"session=\1 不可用：\2"),
    (r'(".*") is no path in ZooKeeper; write (\S+)', r"\1 不是 ZooKeeper 的路径；请写 \2"),
    (r"tls=(.*) is not possible; write tls=true or tls=false", r"tls=\1 不可用；请写 tls=true 或 tls=false"),
    (
        r"redlock:// needs three or five independent servers, and this URL names one; for one write (\S+)",
        r"redlock:// 需要三台或五台各自独立的服务器，而这个 URL 只有一台；只有一台请写 \1",
    ),
    (
        r"redlock:// needs different, independent servers, and (\S+) stands there twice",
        r"redlock:// 需要不同的、各自独立的服务器，而 \1 写了两次",
    ),
    (
        r"redlock:// needs three or five servers, and this URL names (\S+); an even number survives .+",
        r"redlock:// 需要三台或五台服务器，而这个 URL 有 \1 台；偶数并不比少一台更耐故障：请去掉一台或加一台",
    ),
    (
        r"(.+) names only one of cert and key; a client certificate needs both",
        r"\1 的 cert 和 key 只写了一个；客户端证书两者都要",
    ),
    (r"(.+) names only one of user and password; write (\S+)", r"\1 只写了用户名和密码之一；请写 \2"),
    (r"the URL names the file (.+) as (.+), and there is none", r"URL 把 \2 写成文件 \1，但没有这个文件"),
    (
        r"the rule wants a lock of kind (.+), and (.+) is no lock service; write lock\.at, or set NOONMARK_LOCK_URL",
        r"规则要求 \1 锁，而 \2 不是锁服务；请写 lock.at，或设置 NOONMARK_LOCK_URL",
    ),
    (
        r"the rule wants a lock of kind (.+), and (.+) is (.+); write lock\.at, or set NOONMARK_LOCK_URL",
        r"规则要求 \1 锁，而 \2 是 \3；请写 lock.at，或设置 NOONMARK_LOCK_URL",
    ),
    (
        r"lock\.at names the environment variable (.+), which is not set here",
        r"lock.at 指向环境变量 \1，但此处没有设置它",
    ),
    (r'(".*") names no lock service; did you mean (\S+)\? known: (.+)', r"\1 不是锁服务；是否想写 \2？可用：\3"),
    (r'(".*") names no lock service; known: (.+)', r"\1 不是锁服务；可用：\2"),
    (r"(\S+) cannot be made: (.+); choose another path", r"无法创建 \1：\2；请换一个路径"),
    (
        r"a PostgreSQL schema has at most 57 bytes here, and no control characters: (.+)",
        r"此处 PostgreSQL 的 schema 名最多 57 字节，且不能有控制字符：\1",
    ),
    (
        r"(\S+) cannot be read(.*); write (\S+), with special characters in a password percent-encoded",
        r"无法读取 \1\2；请写 \3，密码中的特殊字符用百分号编码",
    ),
    (r"(\S+) cannot be read(.*); write (\S+)", r"无法读取 \1\2；请写 \3"),
    (r"redis\+sentinel:// names no service; write (\S+)", r"redis+sentinel:// 没有指明服务名；请写 \1"),
    (r'(".*") is no database number; write (\S+)', r"\1 不是数据库编号；请写 \2"),
    (
        r"timeout=(.*) is not possible; write seconds between (\S+) and (\S+)",
        r"timeout=\1 不可用；请写 \2 到 \3 之间的秒数",
    ),
    (
        r"redlock's timeout is 1ms to 60s; a small part of the shortest ttl is right",
        "redlock 的 timeout 为 1ms 到 60s；取最短 ttl 的一小部分即可",
    ),
    (r"redlock's timeout: (.+)", r"redlock 的 timeout：\1"),
    (
        r"sqlite has no host; write (\S+) \(three slashes; four for an absolute path\)",
        r"sqlite 没有主机；请写 \1（三个斜杠；绝对路径用四个）",
    ),
    (
        r"the URL names no file; write (\S+), or memory:// for locks of one process",
        r"URL 没有指明文件；请写 \1，或用 memory://（只在一个进程内）",
    ),
    (r'(".*") is no host; write (\S+)', r"\1 不是主机；请写 \2"),
)
"""English pattern -> Chinese."""
