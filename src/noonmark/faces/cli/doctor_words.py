"""What the stores' own findings say in Chinese, by code.

Rule of the file: only text.  The English is the store's, where the code is found out (``ports/doctor.py``); the names in
braces are those of the finding's ``detail``.  A code that stands nowhere here is told in English.
"""

from __future__ import annotations

from noonmark.core.errors_zh import in_chinese

IN_CHINESE: dict[str, tuple[str, str]] = {
    # -- the doctor's own
    "versions": ("本机在用：{versions}，系统 {platform}。", ""),
    "copy_unfinished": ("复制到该存储的过程尚未完成，还不能使用。", "请完成它：noonmark store copy 源 目标 --go"),
    "durability_failover": ("已确认的写入在存储所在机器损毁后仍在：副本先收到了它。", ""),
    "durability_host": ("已确认的写入在存储所在机器断电后仍在，但磁盘损毁则会丢失。", ""),
    "durability_process": (
        "已确认的写入在存储进程结束后仍在；机器断电可能丢失最后片刻。",
        "若要更强：synchronous=FULL（SQLite）、appendfsync always（Redis）、fsync on（PostgreSQL）。",
    ),
    "durability_none": (
        "存储进程崩溃时，已确认的写入可能丢失。",
        "请设置 appendonly yes（Redis）、synchronous_commit on（PostgreSQL），或改用能保留的存储：sqlite:///路径。",
    ),
    "failover_loss": ("有副本，而接管的副本可能缺少最后确认的写入。", ""),
    "notify_absent": ("有事提前到期时不会立即通知 worker：它们每 0.25 秒查看一次。", ""),
    "clock_right": ("本机时钟与存储时钟相差 {seconds} 秒。", ""),
    "clock_off": (
        "本机时钟与存储时钟相差 {seconds} 秒；是否到期由存储时钟决定，而本机日志按本机时钟记时。",
        "请把两者与时间服务器对照，校准不准的那个（NTP）。",
    ),
    "clock_off_file": (
        "本机时钟与存储的时间相差 {seconds} 秒；后者是建文件或上次开机时取自本机时钟的，由它决定是否到期，且从不倒退。",
        "若本机时钟不准，请校准（NTP）。若本机准而存储超前，任务会提早：副本的时间是对的（noonmark store copy 源 目标）。",
    ),
    "workers_none": ("没有在线的 worker：现在到期的任务要等 worker 启动后补做。", "请启动：noonmark worker APP"),
    "work_waits": (
        "没有在线的 worker，而自 {at} 起（已 {late}）就有任务到期：什么都没有运行。",
        "请启动：noonmark worker APP",
    ),
    "workers_awake": ("{count} 个 worker 在线：{workers}。", ""),
    "workers_skewed": (
        "时钟与存储不一致的 worker：{workers}；任务照常准时，但其日志时间不准。",
        "请校准这些机器的时钟（NTP）。",
    ),
    "workers_tzdata": (
        "时区数据不一致（{told}；本机 {here}）：同一本地时间可能对应两个时刻。",
        "请在各处安装同一版本的 tzdata 包。",
    ),
    "workers_version": (
        "noonmark 版本不一致（{told}；本机 {here}）：旧版本不会执行带新字段的规则。",
        "请升级较旧的版本。",
    ),
    "rules_unreadable": (
        "本版本读不懂的规则：{jobs}；它们既不会执行也无法解释。",
        "请升级本机的 noonmark，或重新登记这些任务。",
    ),
    "rules_refused": ("{app} 的规则被拒绝，共 {count} 处错误。第一处：{first}", "查看全部：noonmark next --app {app}"),
    "rules_without_next": (
        "没有下一时刻的时间表：{jobs}。",
        "能执行它们的 worker 启动时会补上：noonmark worker APP",
    ),
    "rules_nobody_runs": (
        "在线的 worker 都无法执行的任务：{jobs}。",
        "请启动带有它们的 worker，或终止它们：noonmark end 任务 --reason 原因",
    ),
    "rules_not_in_force": (
        "这里声明的规则与生效的不一致：{jobs}。",
        "请启动 worker，或使其生效：noonmark rules apply 文件",
    ),
    "rule_returned": (
        "{job} 的规则退回去了：{by} 的修订 {revision} 与修订 {as_in} 相同，取代了 {old_by} 的修订 {old}。",
        "是否还在启动旧版代码？现行规则：noonmark show {job}",
    ),
    "rules_in_force": ("这里声明的 {count} 条规则都已生效。", ""),
    # -- memory and SQLite
    "memory_forgets": ("存储在本进程的内存里：进程结束即全部丢失。", "要保留请用 sqlite:///路径。"),
    "sqlite_file": (
        "{path} 是 noonmark 文件（结构版本 {schema}），日志 WAL，synchronous {synchronous}，{library}。",
        "",
    ),
    "sqlite_journal": (
        "日志模式是 {mode} 而不是 WAL：读写会互相阻塞。",
        "有程序改动了它；请在没有其他程序使用时重新打开。",
    ),
    "sqlite_unchecked": (
        "文件有 {megabytes} MB，没有通读检查是否损坏。",
        "空闲时可执行：sqlite3 文件 'PRAGMA quick_check'",
    ),
    "sqlite_reset_bug": (
        "Python 自带的 SQLite {version} 有缺陷：多个连接同时写可能损坏文件（3.51.3 已修复）。",
        "请从 URL 去掉 driver=sqlite3，或使用自带较新 SQLite 的 Python。",
    ),
    "sqlite_sound": ("已通读文件，没有损坏。", ""),
    "sqlite_damaged": ("文件已损坏：{said}。", "请停止 worker，保留该文件，并从备份恢复。"),
    "sqlite_on_network": (
        "文件在网络文件系统（{kind}）上：锁在机器之间可能无效。",
        "请放在本地磁盘并只由一台机器使用；多台机器请用 postgresql:// 或 redis://。",
    ),
    "sqlite_in_memory": ("文件在 {kind} 上，即内存中：机器关机后就没有了。", "请放到磁盘上。"),
    "sqlite_only_looks": (
        "本用户只能读 {path}，因此只能查看：不能从这里请求或更改任何事。",
        "若要由本用户操作或运行 worker，请给予对该文件及其目录的写权限。",
    ),
    "sqlite_room": ("文件所在磁盘只剩 {megabytes} MB；写满之后所有 worker 都会等待。", "请腾出空间。"),
    "sqlite_full": (
        "磁盘已满（文件旁只剩 {kilobytes} KB）：什么都不会开始，什么都不会记录；worker 会等待，有空间后自行继续。",
        "请腾出空间。",
    ),
    "sqlite_log": (
        "预写日志已增长到 {megabytes} MB：有程序长时间在读。",
        "请结束占用文件的程序（备份、打开的 sqlite3 命令行）。",
    ),
    "fsync_unknown": ("无法测量磁盘确认写入所需的时间：{error}。", ""),
    "fsync_too_fast": (
        "磁盘在 {milliseconds} 毫秒后就确认写入，快得不可能真正写完：断电可能丢失已确认的内容。",
        "请使用写缓存可靠的磁盘，或关闭写缓存。",
    ),
    "fsync_time": ("磁盘确认写入（fsync）用时 {milliseconds} 毫秒。", ""),
    # -- the guard
    "rollback_held": (
        "存储丢失了已确认的数据；其间可能运行过的工作已扣住，等待人工处理。",
        "noonmark ledger show",
    ),
    "rollback_untold": (
        "存储缺少它曾向 {writers} 确认过的数据（据其回执）：它回退过。",
        "在此启动的下一个 worker 会扣住可能已运行的触发：noonmark worker APP，然后 noonmark ledger show",
    ),
    "store_copied": (
        "该存储已于 {at} 复制到 {to}：若两边都有 worker，每件事都会做两遍。",
        "不要在这里启动 worker；若要继续用它而不用副本：noonmark signal noonmark:copied --clear",
    ),
    "receipt_unreadable": (
        "{folder} 中 {writers} 的回执无法读取：不知道存储是否丢失了它们的数据。",
        "在此启动的下一个 worker 会重新写好它们；请核对任务做过什么：noonmark ledger export",
    ),
    "store_another_told": (
        (
            "这里先前是另一个存储：{before}，直到 worker 于 {at} 发现现在这个。"
            "它所存的内容不在现在的存储里，noonmark why 会这样说明。"
        ),
        "若非有意，请把它放回。不想再看到此提示：noonmark signal noonmark:another-store --clear",
    ),
    "store_another": (
        (
            "据本机 worker 的记忆，这里以前是另一个存储：{before}。它所存的内容不在现在的存储里（触发、暂停、标志、结果），"
            "从这里也无法得知缺了什么。"
        ),
        (
            "若非有意，请把它放回；那里运行过什么：noonmark ledger export 文件 --from-state {folder} --of {before}。"
            "不想再看到此提示，请删除 {folder}/{before}"
        ),
    ),
    "workers_blind": (
        "没有状态目录的盲 worker：{workers}；重启后无法得知存储是否丢失数据。",
        "请给它们一个持久的目录：noonmark worker --state 目录（NOONMARK_STATE）。",
    ),
    # -- PostgreSQL
    "postgres_server": ("PostgreSQL {version}，schema {schema}（结构版本 {shape}）。", ""),
    "postgres_version": ("PostgreSQL {version}。", ""),
    "postgres_too_old": ("服务器是 PostgreSQL {version}；noonmark 需要 14 或更新的版本。", "请升级服务器。"),
    "postgres_standby": ("该服务器是备库，只回放另一台服务器：无法写入。", "请在 URL 中写主库。"),
    "postgres_fsync_off": (
        "fsync 已关闭：断电可能丢失已确认的内容，并损坏整个数据库。",
        "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();",
    ),
    "postgres_full_page_writes_off": (
        "full_page_writes 已关闭：断电可能留下只写了一半的页。",
        "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();（文件系统能防止时除外。）",
    ),
    "postgres_commit_not_awaited": (
        "synchronous_commit 已关闭：崩溃会丢失最后约半秒内已确认的内容。",
        "请为该数据库打开：ALTER DATABASE 名称 SET synchronous_commit = on;",
    ),
    "postgres_failover_loss": (
        "有 {replicas} 个备库，但都不等待：接管的备库可能缺少最后确认的写入。",
        "请设置 synchronous_standby_names，或接受它。",
    ),
    "postgres_pooler": (
        "连接经过事务模式的连接池：语句每次都要重新规划，worker 每秒查看四次而不是得到通知。",
        "若要立即得到通知，请让 worker 直接连接服务器。",
    ),
    "postgres_clock_behind": (
        "服务器时钟比先前倒退了 {seconds} 秒：在追上之前不会触发任务，最多五秒。",
        "请查明是什么拨回了它；让它跟随时间服务器。",
    ),
    "postgres_autovacuum_off": (
        "{tables} 的 autovacuum 已关闭：表会不断增大，取任务会变慢。",
        "ALTER TABLE 名称 RESET (autovacuum_enabled);，或在 postgresql.conf 中设 autovacuum = on。",
    ),
    "postgres_dead_rows": (
        "表 {table} 有 {dead} 个死行，比活行还多：清理不及时。",
        "请执行一次 VACUUM（{table}），并查找长时间未结束的事务。",
    ),
    "postgres_long_transaction": (
        "该数据库中有一个事务已打开 {seconds} 秒：在它结束之前死行无法清理。",
        "请查找它：SELECT pid, xact_start, query FROM pg_stat_activity ORDER BY xact_start;",
    ),
    # -- Redis and Valkey
    "server_version": ("{server} {version}。", ""),
    "server_too_old": ("{server} {version} 太旧：至少需要 Redis 6.2。", "请升级到 Redis 6.2 以上，或使用 Valkey。"),
    "cluster_node": (
        "该服务器只是集群的一个节点：现在能服务某些命名空间，槽位一迁移就变了。",
        "请在 URL 中写 {scheme}://主机:端口,主机:端口/。",
    ),
    "server_unread": (
        "服务器不允许该用户读取 {commands}，因此崩溃后还剩什么无从得知。",
        "请授予 +info 和 +config|get，或自行核对 appendonly、appendfsync 和 maxmemory-policy。",
    ),
    "eviction_on": (
        "maxmemory-policy 是 {policy}：内存满时服务器会删除键，任务或已记住的请求会悄悄丢失。",
        "请执行 CONFIG SET maxmemory-policy noeviction，并写入服务器配置。",
    ),
    "eviction_possible": (
        "maxmemory-policy 是 {policy}：一旦设置了 maxmemory，服务器就会删除任务或已记住的请求。",
        "请执行 CONFIG SET maxmemory-policy noeviction，并写入服务器配置。",
    ),
    "memory_free": ("内存已用 {percent}%。", ""),
    "memory_near": (
        "内存已用 {percent}%；到 100% 时服务器拒绝一切写入，什么都无法调度。",
        "请提高 maxmemory，或移走该服务器中的其他数据。",
    ),
    "memory_full": (
        "内存已满：服务器拒绝一切写入，什么都不会开始，什么都不会记录；worker 会等待。",
        "请提高 maxmemory，或移走该服务器中的其他数据。",
    ),
    "saving_fails": (
        "服务器无法写入它的 {file}，恢复之前拒绝一切写入：什么都不会开始，什么都不会记录；worker 会等待。",
        "请查看它的日志和磁盘空间。",
    ),
    "persistence_none": (
        "服务器不写追加日志（AOF）：进程一结束就全部丢失，包括已接受的任务。",
        "请执行 CONFIG SET appendonly yes 和 CONFIG SET appendfsync everysec（或 always），并写入服务器配置。",
    ),
    "persistence_snapshots": (
        "服务器不写追加日志（AOF）：进程一结束，上次快照以来（数分钟）的内容全部丢失，包括已接受的任务。",
        "请执行 CONFIG SET appendonly yes 和 CONFIG SET appendfsync everysec（或 always），并写入服务器配置。",
    ),
    "aof_always": ("服务器先把每次修改写入磁盘再回答：已确认的写入断电后仍在。", ""),
    "aof_everysec": (
        "服务器每秒写一次磁盘：已确认的写入在其进程结束后仍在，断电会丢失大约最后一秒。",
        "若要更强：在服务器上设置 appendfsync always。",
    ),
    "aof_no": (
        "服务器把写盘交给操作系统：已确认的写入在其进程结束后仍在，断电会丢失大约最后半分钟。",
        "请在服务器上设置 appendfsync everysec 或 always。",
    ),
    "aof_slow": (
        "durability={durability} 要等磁盘，而 appendfsync {appendfsync} 每秒最多写一次：每次修改都要等这么久。",
        "请在服务器上设置 appendfsync always。",
    ),
    "aof_required": (
        "URL 要求 durability={durability}，但服务器不写追加日志（AOF）。",
        "请执行 CONFIG SET appendonly yes，并写入服务器配置。",
    ),
    "waitaof_required": (
        "{server} {version} 没有 durability={durability} 所需的 WAITAOF。",
        "请使用 Redis 7.2 以上或 Valkey，或设置 appendfsync always。",
    ),
    "waitaof_early": (
        "URL 要求 durability={durability}，而 {server} {version} 在写入落盘之前就应答 WAITAOF，除非 appendfsync 为 always。",
        "请在服务器上设置 appendfsync always，并允许该用户读取它（+config|get）。",
    ),
    "replicas_missing": (
        "URL 要求 durability=failover，需等待 {wanted} 个副本，而有应答的是 {found} 个：任何写入都无法得到确认。",
        "请为该服务器接上副本（replicaof），或从 URL 去掉 durability=failover。",
    ),
    "replicas_bounded": (
        "复制是异步的：切换主库可能丢失副本上次应答之后接受的内容；min-replicas-to-write {min_replicas_to_write} 使其很短。",
        "",
    ),
    "replicas_unbounded": (
        (
            "有副本（或会提升副本的哨兵），而 min-replicas-to-write 为 0 或未知："
            "切换主库可能丢失已接受的任务和已记录的成功，已成功的可能再次执行。"
        ),
        "请设置 min-replicas-to-write 1 和 min-replicas-max-lag 10，或在 URL 中加 durability=failover。",
    ),
}
"""Code -> what is and what it means, what to do ("" when there is nothing to do)."""


def refused(error: Exception, lang: str) -> str:
    """Return why a store cannot be used, in ``lang``: its findings by their codes, anything else as it was raised."""
    from noonmark.ports.doctor import StoreRefused

    if lang != "zh" or not isinstance(error, StoreRefused):
        return str(error)
    parts = [told(each.code, each.sentence, each.remedy, dict(each.detail), lang) for each in error.findings]
    return f"无法使用存储 {error.where}：{''.join(part for pair in parts for part in pair)}"


def told(code: str, sentence: str, remedy: str, detail: dict[str, object], lang: str) -> tuple[str, str]:
    """Return sentence and remedy of a finding in ``lang`` ("zh", else English as the store said it)."""
    known = IN_CHINESE.get(code) if lang == "zh" else None
    if known is None:
        return (in_chinese(sentence), in_chinese(remedy)) if lang == "zh" else (sentence, remedy)
    values = {name: _value(value) for name, value in detail.items()}
    try:
        return known[0].format(**values), known[1].format(**values)
    except (KeyError, IndexError):  # a store of another version, whose detail has other names
        return sentence, remedy


def _value(value: object) -> object:
    """A value of a finding in a Chinese sentence: a complaint that is known, or names in a row."""
    return in_chinese(value).replace(" and ", "、") if isinstance(value, str) else value
