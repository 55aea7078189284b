-- Free the lock if the token holds it.
-- keys:    1 the lock
-- args:    1 token
-- returns: 1 if it was freed, else 0
-- invariant: another holder's lock is never touched; the fence memory stays
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
