-- common_rows: occurrences, and the indexes that follow them.
--
-- A row has a head (a packed list, rewritten at every change: what verbs compare) and a body (JSON that no script looks
-- into: identity, dates, parameters); result and error stand apart, since few rows have them.  No verb touches an
-- index: at the flush each changed row is compared with what it was, and its places follow.

-- Names in capitals are positions in packed lists (head[STATE], new[N_JOB]); layout.py fills the numbers in.

local rows, changed_rows = {}, {}
local young_series = {}  -- job -> rows that this script has opened and that no index knows yet

-- Where an open row with this head is due, and the member under which it stands there.
local function spot(head, id, plain)
  local moment = head[DUE]
  if not moment then
    return false
  end
  local worker = head[WORKER]
  if worker ~= '' then
    return 'own', 0, string.format('%d:%s:%016.0f:%012.0f', #worker, worker, math.max(moment, 0), id)
  end
  if head[FENCE] == 0 then
    return 'due:new', moment, plain
  end
  if head[STATE] == 'PENDING' and head[HOLDER] == '' then
    return 'due:parked', moment, plain
  end
  return 'due:held', moment, plain
end

local function series_of(head)
  return (head[ORIGIN] == 'schedule' and 'series:' or 'asked:') .. head[JOB]
end

-- A head is packed as one list.  Behind its three bytes of length stand the values one by one, and unpacking those into a
-- table of known size is twice as fast as letting cmsgpack grow it.
local function adopt(id, plain, packed)
  local head = { cmsgpack.unpack(string.sub(packed, 4)) }
  local zset, score, member = spot(head, id, plain)
  local row = {
    id = id, plain = plain, head = head, state = head[STATE], scheduled = head[SCHEDULED], frontier = head[FRONTIER],
    zset = zset, score = score, member = member,
  }
  rows[id] = row
  return row
end

local function load(id)
  local row = rows[id]
  if row ~= nil then
    return row
  end
  local plain = pad(id)
  local packed = call('HGET', PREFIX .. 'head', plain)
  if not packed then
    rows[id] = false
    return false
  end
  return adopt(id, plain, packed)
end

local function load_many(ids)
  for first = 1, #ids, 1000 do
    local fields = {}
    for index = first, math.min(first + 999, #ids) do
      fields[#fields + 1] = pad(ids[index])
    end
    local found = call('HMGET', PREFIX .. 'head', unpack(fields))
    for index, packed in ipairs(found) do
      local id = ids[first + index - 1]
      if packed and rows[id] == nil then
        adopt(id, fields[index], packed)
      end
    end
  end
end

local function change(row)
  if not row.changed then
    row.changed = true
    changed_rows[#changed_rows + 1] = row
  end
  return row.head
end

-- --- small moves ------------------------------------------------------------------------------------------

local function ident(job, subject, identity)
  return string.format('%d:%d:', #job, #subject) .. job .. subject .. identity
end

-- JSON's null becomes false in the row as the caller sends it: a list with holes has no length.
local function cleaned(list)
  for _, new in ipairs(list or {}) do
    for position = 1, N_BODY do
      new[position] = known(new[position])
    end
  end
  return list
end

local function find(new)
  local id = hget('ident', ident(new[N_JOB], new[N_SUBJECT], new[N_IDENTITY]))
  return id and tonumber(id) or nil
end

-- Result and error of a row; both false: it has none.
local function say(row, result, error)
  local head = change(row)
  if result or error then
    hset('said', row.plain, cmsgpack.pack({ result, error }))
    head[OUT] = 1
  elseif head[OUT] == 1 then
    hset('said', row.plain, false)
    head[OUT] = 0
  end
end

local function said(row)
  if row.head[OUT] ~= 1 then
    return false, false
  end
  local packed = hget('said', row.plain)
  local pair = packed and cmsgpack.unpack(packed) or { false, false }
  return pair[1] or false, pair[2] or false
end

local function body_of(row)
  return row.body or call('HGET', PREFIX .. 'body', row.plain)
end

local function put_body(row, index)
  row.body = ARGV[index]
  hset('body', row.plain, ARGV[index])
end

local function forget_waiting(row)
  local names = row.head[WAITS]
  if names then
    for _, name in ipairs(names) do
      zrem('wait:' .. name, row.plain)
    end
    change(row)[WAITS] = false
  end
end

-- --- rows into the store ------------------------------------------------------------------------------------

local function opened(row)
  local head = row.head
  if head[ORIGIN] == 'schedule' then
    young_series[head[JOB]] = young_series[head[JOB]] or {}
    table.insert(young_series[head[JOB]], row.id)
  end
end

-- A new row as it stands in the store; one that does not wait has ended already.
local function create(new, generation, claimed)
  local open = new[N_STATE] == 'PENDING'
  local id = next_number('id')
  local head = {
    new[N_JOB], new[N_SUBJECT], new[N_KEY], new[N_ORIGIN], new[N_WORKER], new[N_SCHEDULED], new[N_STATE],
    open and new[N_DUE], 0, '', 0, claimed, generation, new[N_FRONTIER], new[N_GATED], new[N_REVISION],
    new[N_NOT_BEFORE], new[N_NOT_AFTER], new[N_EXPIRES], 0, 0, 0, 0, new[N_VERDICT], new[N_CODE], '{}',
    false, false, not open and now, false, new[N_ACTOR], new[N_NOTE], now, false, 0, '', 0, false, false, false, 0,
  }
  local row = { id = id, plain = pad(id), head = head, frontier = 0, zset = false }
  rows[id] = row
  change(row)
  put_body(row, new[N_BODY])
  hset('ident', ident(new[N_JOB], new[N_SUBJECT], new[N_IDENTITY]), tostring(id))
  if new[N_RANGE_UNTIL] then
    zadd('range', new[N_RANGE_UNTIL], row.plain)
  end
  if open then
    due(new[N_DUE], new[N_WORKER])
    opened(row)
  end
  return row
end

local own_workers = {}

-- Let the due index, the open rows of the job, the failed and the frontiers follow what the row has become.
local function place(row)
  local head, plain = row.head, row.plain
  local zset, score, member = spot(head, row.id, plain)
  if row.zset and (row.zset ~= zset or row.member ~= member) then
    zrem(row.zset, row.member)
  end
  if zset and (row.zset ~= zset or row.member ~= member or row.score ~= score) then
    zadd(zset, score, member)
  end
  if head[WORKER] ~= '' and (not zset) ~= (not row.zset) then
    own_workers[head[WORKER]] = true
  end
  local moved = row.scheduled ~= head[SCHEDULED]
  if moved then
    zadd('scheduled', head[SCHEDULED], plain)
    zadd('rows:' .. head[JOB], head[SCHEDULED], plain)
  end
  if zset then
    if moved or not row.zset then
      zadd(series_of(head), head[SCHEDULED], plain)
    end
  elseif row.zset then
    zrem(series_of(head), plain)
  end
  if head[FRONTIER] == 1 then
    if moved or row.frontier ~= 1 then
      zadd('frontier', head[SCHEDULED], plain)
    end
  elseif row.frontier == 1 then
    zrem('frontier', plain)
  end
  if head[STATE] ~= row.state then
    count('state:' .. head[STATE], 1)
    if row.state then
      count('state:' .. row.state, -1)
    end
    if head[STATE] == 'FAILED_MANUAL' then
      zadd('failed', head[SCHEDULED], plain)
    elseif row.state == 'FAILED_MANUAL' then
      zrem('failed', plain)
    end
  end
  row.zset, row.score, row.member = zset, score, member
  row.state, row.scheduled, row.frontier = head[STATE], head[SCHEDULED], head[FRONTIER]
end

before_flush[#before_flush + 1] = function()
  for index, row in ipairs(changed_rows) do
    place(row)
    heads[2 * index - 1] = row.plain
    heads[2 * index] = cmsgpack.pack(row.head)
    row.changed = false
  end
  changed_rows = {}
end

-- --- rows of one worker ---------------------------------------------------------------------------------------

local function own_range(worker)
  local begin = string.format('%d:%s:', #worker, worker)
  return '[' .. begin, '(' .. begin .. '~'  -- what follows are digits and a colon
end

local function own_ids(worker, limit)
  local from, to = own_range(worker)
  local ids = {}
  for _, member in ipairs(call('ZRANGEBYLEX', PREFIX .. 'own', from, to, 'LIMIT', 0, limit)) do
    ids[#ids + 1] = tonumber(string.sub(member, -12))
  end
  return ids
end

local function own_first(worker)
  local from, to = own_range(worker)
  local member = call('ZRANGEBYLEX', PREFIX .. 'own', from, to, 'LIMIT', 0, 1)[1]
  return member and tonumber(string.sub(member, -29, -14)) or NO_MOMENT
end

-- Workers that have rows of their own stand in `gone` under the moment from which they are not waited for any more;
-- called after a flush, when the rows of their own stand in `own`.
local function watch(worker)
  local packed = hget('worker', worker)
  if packed and own_first(worker) < NO_MOMENT then
    local card = cmsgpack.unpack(packed)
    call('ZADD', PREFIX .. 'gone', int(card[5] or card[4]), worker)
  else
    call('ZREM', PREFIX .. 'gone', worker)
  end
end

local function watch_own_workers()
  for worker in pairs(own_workers) do
    watch(worker)
  end
  own_workers = {}
end

-- The clock was set back for good: leases and heartbeats are lengths of time, so they move along, every one of them.
local function rebase()
  if not moved_back then
    return
  end
  local place_, held = 0, nil
  repeat
    held = call('ZRANGE', PREFIX .. 'due:held', place_, place_ + 999)
    place_ = place_ + #held
    local ids = {}
    for index, member in ipairs(held) do
      ids[index] = tonumber(member)
    end
    load_many(ids)
    for _, id in ipairs(ids) do
      local row = rows[id]
      if row and row.head[HOLDER] ~= '' then
        change(row)[DUE] = row.head[DUE] - moved_back
      end
    end
  until #held < 1000
  local entries = call('HGETALL', PREFIX .. 'worker')
  for index = 1, #entries, 2 do
    local card = cmsgpack.unpack(entries[index + 1])
    if not card[5] and card[4] > now then
      card[4] = card[4] - moved_back
      hset('worker', entries[index], cmsgpack.pack(card))
      own_workers[entries[index]] = true
    end
  end
end
