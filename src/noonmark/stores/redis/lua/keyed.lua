-- keyed: ids of every row that has a key, recorded duplicates, too.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {key}
-- returns  {id, ...}
-- invariant: writes nothing.
-- USES: unit rows keys

local key = cjson.decode(ARGV[4])[1]
local ids = rows_with(key)
local begin = string.format('%d:', #key) .. key
for _, member in ipairs(call('ZRANGEBYLEX', PREFIX .. 'dups', '[' .. begin, '(' .. begin .. '~')) do
  ids[#ids + 1] = tonumber(string.sub(member, -12))
end
return ids
