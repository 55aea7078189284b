-- Take a free lock, or count the ttl anew for the token that holds it; hand out the fence.
-- keys:    1 the lock (its value is the holder's token)   2 the fence memory, a hash in the same slot
-- args:    1 token   2 ttl, ms   3 how long to remember fences, ms   4 "acquire", or "renew": never take a free lock
--          5 a fence to hand out if it would do, at most a second ahead of the clock (several servers then hand out
--            the same one); 0 for none
-- returns: {fence, 1 if it was handed out just now else 0, the server's time in µs},
--          or nil when another token holds the lock (or renew: nobody)
-- invariant: a fence is greater than every one handed out before, as long as the memory or the server's clock keeps on;
--            one token, one fence, for as long as it holds the lock without a gap
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] or not holder and ARGV[4] == 'renew' then
  return false
end
local memory = redis.call('HMGET', KEYS[2], 'last', 'token', 'fence')
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local fence, fresh = tonumber(memory[3]), 0
if not holder or memory[2] ~= ARGV[1] or not fence then
  fence, fresh = now, 1
  local last, wanted = tonumber(memory[1]), tonumber(ARGV[5])
  if last and last >= fence then
    fence = last + 1
  end
  if wanted > fence and wanted <= now + 1000000 then
    fence = wanted
  end
  local text = string.format('%.0f', fence)
  redis.call('HSET', KEYS[2], 'last', text, 'token', ARGV[1], 'fence', text)
end
redis.call('PEXPIRE', KEYS[2], ARGV[3])
if holder then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
end
return {fence, fresh, now}
