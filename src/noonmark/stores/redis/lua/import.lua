-- import: write a page of another store's records and remember how far the copy has come; see ports/archive.py.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {source, cursor or false, {{kind, records}, ...}, highest id spoken of}, in the port's order, no null
-- returns  {news, 'done'}, or {0, 'held', kind} or {0, 'other', source}: refused
-- invariant: a page that arrives twice is written once; numbers, fences and sequences are kept.
-- USES: unit rows keys ledger facts ending series

local source, cursor, groups, highest = unpack(cjson.decode(ARGV[4]))

local function at_least(name, number)
  if meta[name] < number then
    set_meta(name, number)
  end
end

local function stand_in(worker)
  if worker ~= '' and not hget('worker', worker) then  -- it did not come along, so it counts as gone
    local card = cjson.encode({ worker, '', 0, '', '', '', '', 0 })
    hset('worker', worker, cmsgpack.pack({ string.sub(card, 1, -2) .. ',[]]', now, now, now, now }))
  end
end

local function put_key(row)
  local head = row.head
  if head[KEY] == '' then
    return
  end
  if head[VERDICT] == 'skip_duplicated' then
    zadd('dups', 0, key_member(head[KEY], row.id))
  else
    note_key(row)
  end
  if head[CLAIMED] == 1 then
    local entry = entry_of(head[KEY])
    local place_ = #entry.chain + 1
    while place_ > 1 do
      local other = load(entry.chain[place_ - 1])
      if not other or other.head[GENERATION] <= head[GENERATION] then
        break
      end
      place_ = place_ - 1
    end
    table.insert(entry.chain, place_, row.id)
    keep_entry(head[KEY], entry)
  end
end

local WRITERS = {
  job = function(record)
    local name, job = unpack(record)
    if not job_of(name) then
      keep_job(name, job)
      listen_for(name, '', job[J_EVENT])
      set_meta('rules', meta.rules + 1)  -- whoever works here already reads its rules again
    end
  end,
  revision = function(record)
    local number = next_number('revision')
    local job = job_of(record[1])
    record[9] = job and job[J_SEQ] or 0
    hset('revision', pad(number), cmsgpack.pack(record))
    if job and job[J_REVISION] >= record[4] then  -- they come oldest first, so at last it is the one in force
      job[J_SEQ] = number
      keep_job(record[1], job)
    end
  end,
  occurrence = function(record)
    local id, head, body, identity, result, error, range_until = unpack(record)
    if load(id) then
      return
    end
    local row = { id = id, plain = pad(id), head = head, frontier = 0, zset = false }
    rows[id] = row
    change(row)
    hset('body', pad(id), body)
    hset('ident', ident(head[JOB], head[SUBJECT], identity), int(id))
    if result or error then
      say(row, result, error)
    end
    if range_until then
      zadd('range', range_until, pad(id))
    end
    put_key(row)
    if head[DUE] then
      due(head[DUE], head[WORKER])
      stand_in(head[WORKER])
    end
  end,
  claim = function(record)
    local entry = entry_of(record[1])
    for index = #entry.chain, 1, -1 do
      if entry.chain[index] == record[3] then
        table.remove(entry.chain, index)
      end
    end
    entry.chain[#entry.chain + 1] = record[3]
    keep_entry(record[1], entry)
  end,
  slot = function(record)
    local name, id, since = unpack(record)
    hset('slot', name, int(id) .. ' ' .. int(since))
    local row = load(id)
    if row then
      local held = change(row)[SLOT] or {}
      held[#held + 1] = name
      row.head[SLOT] = held
    end
  end,
  fact = function(record)
    stored_facts[record[1]] = record[2]
    hset('fact', record[1], cmsgpack.pack(record[2]))
  end,
  waiter = function(record)
    local name, version, id = unpack(record)
    local row = load(id)
    if not row then
      return  -- written to the source after its page was read: the comparison will tell, no take must stumble
    end
    zadd('wait:' .. name, version, pad(id))
    waiting_here[name] = true
    local names = change(row)[WAITS] or {}
    names[#names + 1] = name
    row.head[WAITS] = names
    if string.sub(name, 1, 5) ~= 'slot:' and version_of(name) ~= version then
      wake(name)
    end
  end,
  attempt = function(record)
    local id, try = unpack(record)
    local tries = attempts_of(id)
    for _, known_try in ipairs(tries) do
      if known_try[1] == try[1] then
        return
      end
    end
    tries[#tries + 1] = try
    hset('attempt', pad(id), cmsgpack.pack(tries))
  end,
  outcome = function(record)
    local row = load(record[1])
    if not row then
      return
    end
    local head = change(row)
    if head[ANSWERED] == record[2] then
      head[ANSWERED_AS] = 'look'
    else
      local kept = head[ANSWERS] or {}
      kept[#kept + 1] = record[2]
      head[ANSWERS] = kept
    end
  end,
  note = function(record)
    local id, kind, name, value, fence, at = unpack(record)
    local notes, field = 'note:' .. int(id), string.format('%d:', #kind) .. kind .. name
    if not hget(notes, field) then
      local place_ = (meta[notes] or call('HLEN', PREFIX .. notes)) + 1
      meta[notes] = place_
      hset(notes, field, cmsgpack.pack({ place_, kind, name, value, fence, at }))
    end
  end,
  alert = function(record)
    local id, alert = unpack(record)
    keep_alert(id, alert)
    at_least('alert', id)
    if not alert[10] then
      hset('alert:open', alert_name(alert[1], alert[2]), int(id))
    end
  end,
  ledger = function(record)
    local id, line = unpack(record)
    local told = told_of[id]
    if not told then
      told = { new = {} }
      told_of[id] = told
      told_ids[#told_ids + 1] = id
    end
    local last = last_line(id, told)
    if not last or last[1] < line[1] then
      told.new[#told.new + 1] = line
      at_least('seq', line[1])
    end
  end,
  counter = function(record)
    local before = tonumber(call('HGET', PREFIX .. 'count', record[1]) or '0')
    count(record[1], record[2] - before - (counts[record[1]] or 0))
  end,
}

-- What is held although nothing was ever copied here, or nothing.
local function held()
  local numbers = { occurrence = meta.id, ledger = meta.seq, alert = meta.alert, revision = meta.revision }
  for kind, number in pairs(numbers) do
    if number > 0 then
      return kind
    end
  end
  for _, kind in ipairs({ 'job', 'fact', 'slot' }) do
    if call('EXISTS', PREFIX .. kind) == 1 then
      return kind
    end
  end
  return false
end

begin()
local state = call('HMGET', PREFIX .. 'import', 'source', 'cursor')
if not state[1] then
  local kind = held()
  if kind then
    return { 0, 'held', kind }
  end
elseif state[1] ~= source then
  return { 0, 'other', state[1] }
elseif not state[2] or state[2] == cursor then
  return { 0, 'done' }  -- whoever sends this page again missed the answer
end
for _, group in ipairs(groups) do
  for _, record in ipairs(group[2]) do
    WRITERS[group[1]](record)
  end
end
at_least('id', highest)
hset('import', 'source', source)
hset('import', 'cursor', cursor)
return { commit(), 'done' }
