-- Claim one due job: look and remove in one step.
-- keys:    1 the timer, a sorted set scored by due time (seconds)
-- args:    none
-- returns: the job as JSON, or nil when nothing is due
-- invariant: each entry is returned to exactly one caller, never before it is due by the server's time
local time = redis.call('TIME')
local now = string.format('%.6f', (tonumber(time[1]) * 1000000 + tonumber(time[2])) / 1000000)
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 1)
if #due == 0 or redis.call('ZREM', KEYS[1], due[1]) == 0 then
  return false
end
return due[1]
