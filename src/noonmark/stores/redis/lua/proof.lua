-- proof: read what a claim is judged by.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {writer, number of the receipt, worker of the receipt}
-- returns  {now, store id or false, identity, head or false, link or false, heard of at or false, as_of, rollbacks as JSON
--          or false, version of that fact, serving as JSON or false, whether a former store is told of: '' (it never
--          was), 'set' or 'cleared'}
-- invariant: writes nothing.
-- USES: unit rows keys ledger facts chain

read_clock()
local name, seq, worker = unpack(cjson.decode(ARGV[4]))
local link = seq >= 0 and hget('link:' .. name, int(seq % LINKS_KEPT))
if link then
  local number, hash = string.match(link, '^(%d+) (.*)$')
  link = tonumber(number) == seq and hash
end
local heard, as_of = false, 0
local cards = call('HGETALL', PREFIX .. 'worker')
for index = 1, #cards, 2 do
  local seen_at = cmsgpack.unpack(cards[index + 1])[3]
  as_of = math.max(as_of, seen_at)
  if cards[index] == worker then
    heard = seen_at
  end
end
local fact, former = fact_of('rollback'), fact_of('flag:noonmark:another-store')
return {
  now, call('HGET', KEYS[1], 'store_id'), identity(), writer_of(name), link, heard, as_of,
  fact and fact[2] or false, fact and fact[1] or 0, call('HGET', KEYS[1], 'serving'),
  former and (former[2] and 'set' or 'cleared') or '',
}
