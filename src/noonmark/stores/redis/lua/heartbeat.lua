-- heartbeat: record that the worker lives.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {worker, ttl, started_at or 0, 1 when it ends};  ARGV[5] its card as JSON
-- returns  {news, now}
-- invariant: a worker card is {card, started_at, seen_at, until, ended_at}; the start stays what it was.
-- USES: unit rows keys ledger facts ending

begin()
local worker, ttl, started_at, ends = unpack(cjson.decode(ARGV[4]))
local packed = hget('worker', worker)
local before = packed and cmsgpack.unpack(packed)
if before then
  started_at = before[2]
elseif started_at == 0 then
  started_at = now
end
hset('worker', worker, cmsgpack.pack({ ARGV[5], started_at, now, now + ttl, ends == 1 and now }))
own_workers[worker] = true
if ends == 1 and own_first(worker) < NO_MOMENT then
  due(now, worker)  -- its own rows are to be ended now
end
return { commit(), now }
