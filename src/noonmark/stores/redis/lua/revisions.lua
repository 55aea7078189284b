-- revisions: read the rules that were ever in force, in the order in which they came.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {first, last}: numbers of changes
-- returns  {highest number, {{name, rule, digest, revision, effective_at, event, actor, at, number before}, ...}}
-- invariant: writes nothing.
-- USES: unit

local first, last = unpack(cjson.decode(ARGV[4]))
local highest = tonumber(call('HGET', KEYS[1], 'revision') or '0')
local fields = {}
for number = first, math.min(last, highest) do
  fields[#fields + 1] = pad(number)
end
prefetch('revision', fields)
local answers = {}
for _, field in ipairs(fields) do
  local packed = hget('revision', field)
  if packed then
    answers[#answers + 1] = cmsgpack.unpack(packed)
  end
end
return { highest, answers }
