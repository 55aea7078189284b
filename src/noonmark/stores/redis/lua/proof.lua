-- proof: read what a claim is judged by.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {writer, number of the receipt, worker of the receipt, when it was given}
-- returns  {now, store id or false, identity, head or false, link or false, heard of at or false, as_of (0 while the
--          server is the one that served before), rollbacks as JSON
--          or false, version of that fact, serving as JSON or false, whether a former store is told of: '' (it never
--          was), 'set' or 'cleared', the latest moment before the receipt where the writer is not known, else 0}
-- invariant: writes nothing.
-- USES: unit rows keys ledger facts chain

read_clock()
local name, seq, worker, word = unpack(cjson.decode(ARGV[4]))
local link = seq >= 0 and hget('link:' .. name, int(seq % LINKS_KEPT))
if link then
  local number, hash = string.match(link, '^(%d+) (.*)$')
  link = tonumber(number) == seq and hash
end
local head, earlier = writer_of(name), 0
local function tell(at)
  if not head and at < word then
    earlier = math.max(earlier, at)
  end
end
local card = hget('worker', worker)
local heard, as_of = card and cmsgpack.unpack(card)[3], 0
local serving, server = call('HGET', KEYS[1], 'serving'), identity()
-- There is a card of every process ever started, and every idle worker asks every ten seconds: they are looked through
-- only where something hangs on it, when another server serves and when the writer is not known.
if not serving or cjson.decode(serving).identity ~= server or (not head and word > 0) then
  for _, packed in ipairs(call('HVALS', PREFIX .. 'worker')) do
    local _, started_at, seen_at = unpack(cmsgpack.unpack(packed))
    tell(started_at)
    tell(seen_at)
    as_of = math.max(as_of, seen_at)
  end
end
if not head and word > 0 then
  for _, packed in ipairs(call('HVALS', PREFIX .. 'writer')) do
    local other = cmsgpack.unpack(packed)
    tell(other[4])
    tell(other[7])
  end
  for _, job in ipairs(call('HKEYS', PREFIX .. 'job')) do
    tell(job_of(job)[J_EFFECTIVE])
  end
end
local fact, former = fact_of('rollback'), fact_of('flag:noonmark:another-store')
return {
  now, call('HGET', KEYS[1], 'store_id'), server, head, link, heard, as_of,
  fact and fact[2] or false, fact and fact[1] or 0, serving,
  former and (former[2] and 'set' or 'cleared') or '', earlier,
}
