-- prove: write down what became of a claim, if what it was judged by is still so; see the port.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {writer, hash of its head as judged or '', version of the fact as judged, identity as judged, head as it
--          is to be, rollbacks or null, moment before which rows are held or null, detail of the alert or null, epoch,
--          worker, alert about another store (its all-clear) or null, that store as JSON or null, how many numbers of
--          rows are left out};  ARGV[5] serving as JSON
-- returns  {news, 'done'} or {0, 'moved'}
-- invariant: what was judged is compared before anything is written.
-- USES: unit rows keys ledger facts ending chain

local AT_ONCE = 2000
local name, hash, version, server, head, rollbacks, before, detail, epoch, worker, alert, former, skipped = unpack(
  cjson.decode(ARGV[4])
)
rollbacks, before, detail, alert, former = known(rollbacks), known(before), known(detail), known(alert), known(former)

-- The next number of a counter, one that nobody can have seen before the store lost what it lost.
local function unseen(version)
  return math.max(version + 1, now)
end

-- Let nothing that may have run start by itself; what was let go before may have run since.
local function gate(index)
  local ids = call('ZRANGEBYSCORE', PREFIX .. index, '-inf', '(' .. int(before))
  for first = 1, #ids, AT_ONCE do
    local some = {}
    for position = first, math.min(first + AT_ONCE - 1, #ids) do
      some[#some + 1] = tonumber(ids[position])
    end
    load_many(some)
    for _, id in ipairs(some) do
      if rows[id] then
        local head = change(rows[id])
        head[GATED] = 1
        if head[CODE] == 'released' or head[CODE] == 'retried' then
          head[CODE], head[DETAIL] = '', '{}'
        end
      end
    end
    commit()
    for _, id in ipairs(some) do
      rows[id] = nil
    end
  end
end

-- ... nor by a decision that knows of no rollback.
local function hold()
  for _, job in ipairs(call('HKEYS', PREFIX .. 'job')) do
    gate('series:' .. job)
    gate('asked:' .. job)
    local row = job_of(job)
    row[J_PAUSE_VERSION] = unseen(row[J_PAUSE_VERSION])
    keep_job(job, row)
    wake('pause:' .. job)
  end
  set_meta('rules', unseen(meta.rules))
end

begin()
local old, fact = writer_of(name), fact_of('rollback')
if (old and old[3] or '') ~= hash or (fact and fact[1] or 0) ~= version or identity() ~= server then
  return { 0, 'moved' }
end
if before then
  hold()
end
hset('writer', name, cmsgpack.pack(head))
if rollbacks then
  write_fact('rollback', rollbacks, worker)
end
if detail then
  set_meta('id', meta.id + skipped)
  write_alert({ '', 'rollback', 3, 'store_rolled_back', detail, false, false })
  log(0, '', 'rollback', '', 'store_rolled_back', detail, '[]', worker, 0, epoch, '')
end
local is_news = former and not fact_of('flag:noonmark:another-store')
if is_news then
  write_fact('flag:noonmark:another-store', former, worker)
  log(0, '', 'another_store', '', 'another_store', alert[5], '[]', worker, 0, 0, '')
end
if alert and (is_news or not former) then
  write_alert(alert)
end
local news = commit()
call('HSET', KEYS[1], 'serving', ARGV[5])
return { news, 'done' }
