"""What the demo says, in English and Chinese."""

from __future__ import annotations

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "store": "demo store   {path}     times are {zone}",
        "workers": "workers      {workers}",
        "app": "jobs         ResearchCopilot's, at demo speed (lease 10 s); the map: researchcopilot/scheduler.py",
        "replaced": "(removed what the last demo left in {path})",
        "asked": "3 questions asked; the digest of each is due 4 s after its answer",
        "promised": "yesterday's report is due at {report}, but its data will not be ready then",
        "long": "asked for a long answer, read document by document: {key}",
        "killing": "killing {worker} in the middle of it:  kill -9 {pid}",
        "break_it": "Now break it: in another terminal   kill -9 {pid}        ({worker} is in the middle of {job})",
        "gone": "{worker} is gone",
        "gone_idle": "last heartbeat {seen}, holding nothing",
        "gone_holding": "last heartbeat {seen}, holding {job}, lease ends {until}",
        "taken_over": "taken over",
        "fence": "fence {old} → {new}, attempt {attempt}, {steps}",
        "no_steps": "no step was done yet",
        "step": 'step "{steps}" replayed',
        "steps": "steps {steps} replayed",
        "late": "{length} late",
        "late_after": "{length} late, after waiting for {what}",
        "key": "key {key}",
        "range": "{count} moments",
        "verify": "verify",
        "next": "Try next:",
        "why_long": "who took over, when, and why it is safe",
        "why_report": "why the report waited, and when it ran",
        "why_refused": "refused: the key is done, and a key is done once",
        "proof": "the whole proof",
        "nobody_killed": "No worker was killed this time; everything above ran without a fault.",
        "no_takeover": "The long answer was not taken over in time; the workers' logs are in {path}.",
        "erased": "Erased {url}; nothing of the demo is left there (--keep leaves it to look into).",
        "not_erased": "Could not erase {url}: {error}",
        "interrupted": "Interrupted; all workers are stopped.",
        "worker_failed": "{worker} ended by itself (exit code {code}); the end of its log, {path}:",
        "too_slow": "the workers did not start within {seconds} s",
    },
    "zh": {
        "store": "演示存储     {path}     时间均为 {zone}",
        "workers": "worker       {workers}",
        "app": "任务         ResearchCopilot 的任务，演示速度（租约 10 秒）；清单见 researchcopilot/scheduler.py",
        "replaced": "（已删除上次演示留在 {path} 的内容）",
        "asked": "提出了 3 个问题；每个回答 4 秒后生成摘要",
        "promised": "昨天的日报 {report} 到期，但那时数据还没有就绪",
        "long": "请求一个逐篇阅读文档的长回答：{key}",
        "killing": "在它执行到一半时杀掉 {worker}：  kill -9 {pid}",
        "break_it": "现在来破坏它：在另一个终端执行   kill -9 {pid}        （{worker} 正在执行 {job}）",
        "gone": "{worker} 消失了",
        "gone_idle": "最后心跳 {seen}，没有持有任务",
        "gone_holding": "最后心跳 {seen}，持有 {job}，租约到 {until}",
        "taken_over": "已接管",
        "fence": "fence {old} → {new}，第 {attempt} 次尝试，{steps}",
        "no_steps": "还没有完成的步骤",
        "step": "步骤 “{steps}” 直接取回",
        "steps": "步骤 {steps} 直接取回",
        "late": "晚了 {length}",
        "late_after": "晚了 {length}，此前在等{what}",
        "key": "键 {key}",
        "range": "{count} 个时刻",
        "verify": "校验",
        "next": "接下来可以试试：",
        "why_long": "谁在什么时候接管，为什么是安全的",
        "why_report": "日报为什么等待，又在什么时候执行",
        "why_refused": "会被拒绝：这个键已经完成，一个键只完成一次",
        "proof": "完整的证明",
        "nobody_killed": "这次没有 worker 被杀；以上全部正常完成。",
        "no_takeover": "长回答没有及时被接管；worker 的日志在 {path}。",
        "erased": "已清除 {url}；演示在那里没有留下任何东西（--keep 可保留以便查看）。",
        "not_erased": "无法清除 {url}：{error}",
        "interrupted": "已中断；所有 worker 都已停止。",
        "worker_failed": "{worker} 自行退出（退出码 {code}）；它的日志 {path} 的结尾：",
        "too_slow": "worker 没有在 {seconds} 秒内启动",
    },
}

QUESTIONS = {
    "en": ("What is a lease?", "What does the key of a job stand for?", "What happens to a moment that was missed?"),
    "zh": ("租约是什么？", "幂等键代表什么？", "错过的任务会怎样？"),
}
LONG_QUESTION = {
    "en": "How does noonmark make sure that a job runs at most once and is never lost?",
    "zh": "怎样保证任务不丢失、也不重复执行？",
}


def say(lang: str, name: str, **args: object) -> str:
    """Return a text of the demo."""
    return WORDS[lang][name].format(**args)
