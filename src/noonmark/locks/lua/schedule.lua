-- Put a delayed job into the timer, due so long after the server's now.
-- keys:    1 the timer, a sorted set scored by due time
-- args:    1 the job as JSON   2 delay, microseconds (may be negative: due already)
-- returns: the due time, UTC microseconds
-- invariant: the score is the server's time; a job that is scheduled again keeps one entry, with the new time
local time = redis.call('TIME')
local due = tonumber(time[1]) * 1000000 + tonumber(time[2]) + tonumber(ARGV[2])
redis.call('ZADD', KEYS[1], string.format('%.6f', due / 1000000), ARGV[1])
return due
