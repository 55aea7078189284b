-- Count the ttl anew if the token holds the lock (the bare function of the book; hold.lua does it with a fence).
-- keys:    1 the lock
-- args:    1 token   2 ttl, ms
-- returns: 1 if the ttl was set, else 0
-- invariant: another holder's lock is never prolonged
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0
