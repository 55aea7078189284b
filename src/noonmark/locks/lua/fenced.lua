-- Read or write a value under a fence, which is registered by both.
-- keys:    1 a hash with the fields fence and value
-- args:    1 fence, decimal   2 "read" or "write"   3 the value to write
-- returns: {1, the value as it was before, or nil} or {0, the registered fence} when that is greater
-- invariant: the registered fence never falls; what came under an older one changes nothing
local known, fence = redis.call('HGET', KEYS[1], 'fence'), ARGV[1]
-- As text: fences have up to 19 digits, a Lua number keeps 15.
if known and (#known > #fence or #known == #fence and known > fence) then
  return {0, known}
end
local value = redis.call('HGET', KEYS[1], 'value')
if ARGV[2] == 'write' then
  redis.call('HSET', KEYS[1], 'fence', fence, 'value', ARGV[3])
elseif known ~= fence then
  redis.call('HSET', KEYS[1], 'fence', fence)
end
return {1, value}
