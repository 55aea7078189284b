-- take: lease what is due, oldest first; start at once what the row itself proves may start.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {worker, limit, {job: lease}, look_lease, link or null, is_repeat}
-- returns  {news, now, next_due or nil, rules_version, rows}; a row is {id, body, result, error, head}; or {0, 'broken'}
-- invariant: a row is leased under a fence greater than every fence before; a take that finds nothing due writes nothing,
--            unless it was asked before: the first try may come yet, and has to find what was answered.
-- USES: unit rows keys ledger facts ending chain

local WOKEN_AT_ONCE, FACTS_AT_ONCE, CANCELLED_AT_ONCE = 1000, 1000, 1000
local worker, limit, runnable, look_lease, link, is_repeat = unpack(cjson.decode(ARGV[4]))
link = known(link)

local function reply(row)
  local result, error = said(row)
  return { row.id, body_of(row), result, error, row.head }
end

-- The first answer again; a row that is under another fence by now is nobody's to run, so it is left out.
local function again(kept)
  local found = {}
  for _, pair in ipairs(kept[4]) do
    local row = load(pair[1])
    if row and row.head[FENCE] == pair[2] and row.head[HOLDER] == worker then
      found[#found + 1] = reply(row)
    end
  end
  return { 0, kept[1], kept[2], kept[3], found }
end

-- Make due what waits for facts that moved, at most a thousand rows; whoever parked after the fact moved saw the new
-- version and sleeps on: rows that park again would else be woken for ever.
local function wake_waiting()
  local names = call('SMEMBERS', PREFIX .. 'wake')
  table.sort(names)
  local budget, done = WOKEN_AT_ONCE, {}
  for _, name in ipairs(names) do
    if budget == 0 or #done >= FACTS_AT_ONCE then
      break
    end
    local version = version_of(name)
    local waiting = call('ZRANGEBYSCORE', PREFIX .. 'wait:' .. name, '-inf', '(' .. int(version), 'LIMIT', 0, budget + 1)
    local left = #waiting > budget
    local ids = {}
    for index = 1, math.min(#waiting, budget) do
      ids[index] = tonumber(waiting[index])
    end
    load_many(ids)
    for _, id in ipairs(ids) do
      local row = rows[id]
      forget_waiting(row)
      local moment = row.head[DUE]
      if moment and row.head[HOLDER] == '' and moment > now then
        row.head[DUE] = now
      end
    end
    budget = budget - #ids
    if not left then
      done[#done + 1] = name
    end
  end
  return done, #names - #done
end

-- Cancel what only a worker that is gone could have taken; returns how many rows.
local function cancel_rows_of_the_gone()
  local ended = 0
  local gone = call('ZRANGEBYSCORE', PREFIX .. 'gone', '-inf', int(now))
  for _, name in ipairs(gone) do
    local ids = own_ids(name, CANCELLED_AT_ONCE - ended)
    load_many(ids)
    for _, id in ipairs(ids) do
      local row = rows[id]
      finish(row, 'CANCELLED', { nil, 'worker_gone', '{}' }, nil, nil, true)
      log_row(row, 'cancel', '[]', '', '')
    end
    ended = ended + #ids
    if ended >= CANCELLED_AT_ONCE then
      break
    end
  end
  return ended
end

local function due_ids()
  local found, sorted = {}, true
  if limit <= 0 then
    return found
  end
  for _, name in ipairs({ 'due:new', 'due:parked', 'due:held' }) do
    local some = call('ZRANGEBYSCORE', PREFIX .. name, '-inf', int(now), 'WITHSCORES', 'LIMIT', 0, limit)
    sorted = sorted and (#found == 0 or #some == 0)
    for index = 1, #some, 2 do
      found[#found + 1] = { tonumber(some[index + 1]), tonumber(some[index]) }
    end
  end
  if worker ~= '' then
    local from = own_range(worker)
    local to = string.format('[%d:%s:%016.0f:~', #worker, worker, now)
    local own = call('ZRANGEBYLEX', PREFIX .. 'own', from, to, 'LIMIT', 0, limit)
    sorted = sorted and (#found == 0 or #own == 0)
    for _, member in ipairs(own) do
      found[#found + 1] = { tonumber(string.sub(member, -29, -14)), tonumber(string.sub(member, -12)) }
    end
  end
  if not sorted then
    table.sort(found, function(a, b)
      return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
    end)
  end
  local ids = {}
  for index = 1, math.min(#found, limit) do
    ids[index] = found[index][2]
  end
  return ids
end

-- A row that once cost somebody a lease may be what kills workers: nothing else shall die with it.
local function choose(ids)
  load_many(ids)
  local chosen = {}
  for index, id in ipairs(ids) do
    local row = rows[id]
    if row.head[LOST] > 0 or row.head[HOLDER] ~= '' then
      if index == 1 then
        chosen[1] = row
      end
      break
    end
    chosen[index] = row
  end
  return chosen
end

-- Does the row itself prove that it may start, so that nobody has to look?
local function may_start(head)
  local job = runnable[head[JOB]] and job_of(head[JOB])
  return job
    and head[STATE] ~= 'RUNNING'
    and head[GATED] == 0
    and head[FRONTIER] == 0
    and head[CLAIMED] == 1
    and head[REVISION] == job[J_REVISION]
    and not job[J_PAUSED]
    and (not head[NOT_BEFORE] or head[NOT_BEFORE] <= now)
    and (not head[NOT_AFTER] or now < head[NOT_AFTER])
    and (head[FIRST] or not head[EXPIRES] or now <= head[EXPIRES])
    and head[CANCEL] == 0
end

local function lease(row)
  local starts = may_start(row.head)
  forget_waiting(row)
  local head = change(row)
  local lapsed = head[HOLDER] ~= ''
  if lapsed and head[STATE] == 'RUNNING' and head[LOOKING] == 0 then
    head[TAKEOVERS] = head[TAKEOVERS] + 1
    archive(row, 'lost', false)
  end
  if lapsed then
    head[LOST] = head[LOST] + 1
  end
  head[FENCE], head[HOLDER] = math.max(head[FENCE] + 1, now), worker
  if starts then
    head[STATE], head[DUE], head[LOOKING] = 'RUNNING', now + runnable[head[JOB]], 0
    head[ATTEMPT], head[STARTED], head[FIRST] = head[ATTEMPT] + 1, now, head[FIRST] or now
    head[VERDICT], head[CODE], head[DETAIL] = 'should_run', 'started', '{}'
    head[RUN_FENCE], head[RUN_WORKER] = head[FENCE], worker
  else
    head[DUE], head[LOOKING] = now + look_lease, 1
  end
end

-- The next moment at which this worker may find something; a vanished neighbour's rows count, too.
local function next_due()
  local moment = earliest_common()
  if worker ~= '' then
    moment = math.min(moment, own_first(worker))
  end
  local gone = call('ZRANGE', PREFIX .. 'gone', 0, 1, 'WITHSCORES')
  for index = 1, #gone, 2 do
    if gone[index] ~= worker then
      moment = math.min(moment, tonumber(gone[index + 1]))
      break
    end
  end
  return moment < NO_MOMENT and moment or false
end

local function remember_leased(next_moment, leased)
  local answer = cmsgpack.pack({ now, next_moment, meta.rules, leased })
  call('SET', PREFIX .. 'req:' .. ARGV[2], answer, 'PX', REMEMBERED_MS)
end

begin()
local first = recall()
if first then
  return again(first)
end
if link and not follows(link) then
  return { 0, 'broken' }
end
local woken, still_asleep = wake_waiting()
local buried = cancel_rows_of_the_gone()
if moved_back or #woken > 0 or still_asleep > 0 or buried > 0 then
  commit()
  if #woken > 0 then
    send('SREM', PREFIX .. 'wake', woken)
  end
end
local ids = due_ids()
if #ids == 0 then
  -- What a repeat was answered is kept; and where the clock was set back, somebody must count the five seconds.
  if is_repeat or meta_changed.behind then
    commit()
  end
  local next_moment = still_asleep > 0 and now or next_due()
  if is_repeat then
    remember_leased(next_moment, {})
  end
  return { 0, now, next_moment, meta.rules, {} }
end
local chosen = choose(ids)
local bodies = {}
for index, row in ipairs(chosen) do
  bodies[index] = row.plain
end
prefetch('body', bodies)
local answered_rows, kept, starts = {}, {}, false
for index, row in ipairs(chosen) do
  lease(row)
  starts = starts or row.head[LOOKING] == 0
  local result, error = said(row)
  answered_rows[index] = { row.id, hget('body', row.plain), result, error, row.head }
  kept[index] = { row.id, row.head[FENCE] }
end
if link and starts then
  append(link)
end
-- what is left is the next moment; the answer is remembered with it, so the rows go out first
commit()
keep_rings()
for _, row in ipairs(chosen) do
  row.head[SLOT] = nil  -- a reply ends at the first nil: what only scripts need is not sent
end
local next_moment = still_asleep > 0 and now or next_due()
remember_leased(next_moment, kept)
return { 0, now, next_moment, meta.rules, answered_rows }
