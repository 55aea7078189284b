-- lineage: read the rules that some jobs ever had, from the newest back, a page at a time.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {{name, number, 1 or nothing}, ...}: from which change on, 0 = from the newest; 1 = the one before it
-- returns  {{{number, name, rule, digest, revision, effective_at, event, actor}, ...}, {{name, number, ...}, ...}}, the second
--          is what is left to be asked for
-- invariant: writes nothing; reads one entry for each that it returns, and a few thousand where those do not say which
--            one was before them.
-- USES: unit rows keys facts

local READ_AT_ONCE, SOUGHT_AT_ONCE = 500, 5000
local sought = 0

-- An entry of before there were such numbers does not say which one was before it.  Returns it and false, or from where on
-- to seek another time and true: all changes of all jobs may have to be gone through, which must not hold up the server.
local function one_before(number, name)
  for other = number - 1, 1, -1 do
    if sought >= SOUGHT_AT_ONCE then
      return other + 1, true
    end
    sought = sought + 1
    local packed = call('HGET', PREFIX .. 'revision', pad(other))
    if packed and cmsgpack.unpack(packed)[1] == name then
      return other, false
    end
  end
  return 0, false
end

local asked = cjson.decode(ARGV[4])
local found, left = {}, {}
for _, pair in ipairs(asked) do
  local name, number, is_sought = pair[1], pair[2], pair[3] == 1
  if number == 0 then
    local job = job_of(name)
    number = job and job[J_SEQ] or 0
  end
  if is_sought then
    number, is_sought = one_before(number, name)
  end
  while number ~= 0 and not is_sought and #found < READ_AT_ONCE do
    local packed = call('HGET', PREFIX .. 'revision', pad(number))
    local entry = packed and cmsgpack.unpack(packed)
    if not entry then
      number = 0
      break
    end
    found[#found + 1] = { number, unpack(entry, 1, 7) }
    if entry[9] then
      number = entry[9]
    else
      number, is_sought = one_before(number, name)
    end
  end
  if number ~= 0 then
    left[#left + 1] = { name, number, is_sought and 1 or nil }
  end
end
return { found, left }
