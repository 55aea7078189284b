-- facts: one answer per name, stored or derived.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON list of names
-- returns  per name {} or {kind, version, ...}: fact: value as JSON, set_at, actor; key: id, state, generation, origin, job,
--          ended_at; slot: id, since; pause: paused, paused_at, resumed_at, reason; worker: card, until, ended_at
-- invariant: writes nothing.
-- USES: unit rows keys facts

local READERS = {
  key = function(rest)
    local row = holder_of(rest)
    if not row then
      return {}
    end
    local head = row.head
    return { 'key', head[GENERATION] + 1, row.id, head[STATE], head[GENERATION], head[ORIGIN], head[JOB], head[ENDED] }
  end,
  slot = function(_, name)
    local text = hget('slot', name)
    if not text then
      return {}
    end
    local id, since = string.match(text, '^(%d+) (%-?%d+)$')
    return { 'slot', 1, tonumber(id), tonumber(since) }
  end,
  pause = function(rest)
    local job = job_of(rest)
    if not job then
      return {}
    end
    return { 'pause', job[J_PAUSE_VERSION], job[J_PAUSED] and 1 or 0, job[J_PAUSED_AT], job[J_RESUMED_AT], job[J_REASON] }
  end,
  worker = function(rest)
    local packed = hget('worker', rest)
    if not packed then
      return {}
    end
    local card = cmsgpack.unpack(packed)
    return { 'worker', 1, card[1], card[4], card[5] }
  end,
}

local answers = {}
for index, name in ipairs(cjson.decode(ARGV[4])) do
  local kind, rest = string.match(name, '^(%a+):(.*)$')
  if READERS[kind] then
    answers[index] = READERS[kind](rest, name)
  else
    local fact = fact_of(name)
    answers[index] = fact and { 'fact', fact[1], fact[2], fact[3], fact[4] } or {}
  end
end
return answers
