-- Let the fences of this server go on from the one that a quorum agreed on (Redlock's second round).
-- keys:    1 the lock   2 the fence memory, a hash
-- args:    1 token   2 the fence of the grant
-- returns: 1 if the token still holds the lock here, else 0 (and nothing changes)
-- invariant: the next fence handed out here is greater than the grant's
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
local last, fence = tonumber(redis.call('HGET', KEYS[2], 'last')), tonumber(ARGV[2])
if not last or last < fence then
  last = fence
end
redis.call('HSET', KEYS[2], 'last', string.format('%.0f', last), 'token', ARGV[1], 'fence', ARGV[2])
return 1
