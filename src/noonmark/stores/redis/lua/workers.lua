-- workers: read worker cards.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON list of worker ids
-- returns  {{id, card, started_at, seen_at, until, ended_at}, ...}
-- invariant: writes nothing.
-- USES: unit

local ids = cjson.decode(ARGV[4])
prefetch('worker', ids)
local answers = {}
for _, id in ipairs(ids) do
  local packed = hget('worker', id)
  if packed then
    answers[#answers + 1] = { id, unpack(cmsgpack.unpack(packed)) }
  end
end
return answers
