-- lineage: read the rules that some jobs ever had, from the newest back, a page at a time.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {{name, number}, ...}: from which change on, 0 = from the newest
-- returns  {{{number, name, rule, digest, revision, effective_at, event, actor}, ...}, {{name, number}, ...}}, the second
--          is what is left to be asked for
-- invariant: writes nothing; reads one entry for each that it returns.
-- USES: unit rows keys facts

local READ_AT_ONCE = 500

-- An entry of before there were such numbers does not say which one was before it.
local function one_before(number, name)
  for other = number - 1, 1, -1 do
    local packed = call('HGET', PREFIX .. 'revision', pad(other))
    if packed and cmsgpack.unpack(packed)[1] == name then
      return other
    end
  end
  return 0
end

local asked = cjson.decode(ARGV[4])
local found, left = {}, {}
for _, pair in ipairs(asked) do
  local name, number = pair[1], pair[2]
  if number == 0 then
    local job = job_of(name)
    number = job and job[J_SEQ] or 0
  end
  while number ~= 0 and #found < READ_AT_ONCE do
    local packed = call('HGET', PREFIX .. 'revision', pad(number))
    local entry = packed and cmsgpack.unpack(packed)
    if not entry then
      break
    end
    found[#found + 1] = { number, unpack(entry, 1, 7) }
    number = entry[9] or one_before(number, name)
    if number == 0 then
      break
    end
  end
  if #found >= READ_AT_ONCE and number ~= 0 then
    left[#left + 1] = { name, number }
  end
end
return { found, left }
