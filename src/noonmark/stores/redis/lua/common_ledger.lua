-- common_ledger: the ledger, the attempts and the alerts.
--
-- Lines are appended; a look that saw the same as the one before it only counts.  The running or successful attempt is
-- told by the row itself (RUN_FENCE), every other end of an attempt is archived once.

local told_of, told_ids = {}, {}

local function log_key(id)
  return 'log:' .. int(id)
end

local function says_the_same(last, verdict, code, detail)
  return last[L_EVENT] == 'park' and last[L_VERDICT] == verdict and last[L_CODE] == code and last[L_DETAIL] == detail
end

-- The line before, as stored or as this script has written it; `stored` goes back over the last line of the list.
local function last_line(id, told)
  if #told.new > 0 then
    return told.new[#told.new]
  end
  if told.stored == nil then
    local packed = call('LINDEX', PREFIX .. log_key(id), -1)
    told.stored = packed and cmsgpack.unpack(packed) or false
  end
  return told.stored
end

local function log(id, job, event, verdict, code, detail, checks, worker, fence, revision, actor)
  local told = told_of[id]
  if not told then
    told = { new = {} }
    told_of[id] = told
    told_ids[#told_ids + 1] = id
  end
  if event == 'park' then
    local last = last_line(id, told)
    if last and says_the_same(last, verdict, code, detail) then
      last[L_COUNT], last[L_LAST_AT], last[L_CHECKS] = last[L_COUNT] + 1, now, checks
      told.folded = told.folded or #told.new == 0
      return
    end
  end
  told.new[#told.new + 1] =
    { next_number('seq'), job, now, now, 1, event, verdict, code, detail, checks, worker, fence, revision, actor }
end

before_flush[#before_flush + 1] = function()
  for _, id in ipairs(told_ids) do
    local told = told_of[id]
    told.packed = {}
    for index, line in ipairs(told.new) do
      told.packed[index] = cmsgpack.pack(line)
    end
    told.again = told.folded and cmsgpack.pack(told.stored)
  end
end

local function flush_lines()
  for _, id in ipairs(told_ids) do
    local told = told_of[id]
    if told.again then
      call('LSET', PREFIX .. log_key(id), -1, told.again)
    end
    send('RPUSH', PREFIX .. log_key(id), told.packed)
  end
  told_of, told_ids = {}, {}
end

local function log_row(row, event, checks, worker, actor)
  local head = row.head
  log(row.id, head[JOB], event, head[VERDICT], head[CODE], head[DETAIL], checks, worker, head[FENCE], head[REVISION], actor)
end

-- --- attempts -------------------------------------------------------------------------------------------------

local function attempts_of(id)
  local packed = hget('attempt', pad(id))
  return packed and cmsgpack.unpack(packed) or {}
end

-- Record how the attempt under way ended; where none is under way nothing happens.
local function archive(row, outcome, error)
  local head = row.head
  if head[RUN_FENCE] == 0 then
    return
  end
  local tries = attempts_of(row.id)
  tries[#tries + 1] =
    { head[RUN_FENCE], head[ATTEMPT], head[RUN_WORKER], head[STARTED], now, outcome, error or false }
  hset('attempt', row.plain, cmsgpack.pack(tries))
  change(row)[RUN_FENCE] = 0
end

-- Did the attempt or look under this fence end by the word of its own holder?
local function had_outcome(row, fence)
  for _, kept in ipairs(row.head[ANSWERS] or {}) do
    if kept == fence then
      return true
    end
  end
  for _, try in ipairs(attempts_of(row.id)) do
    if try[1] == fence and try[6] ~= 'lost' and try[6] ~= 'cancelled' then
      return true
    end
  end
  return false
end

-- Remember the fence that was answered last.  Of looks that ended their row every one is kept, for the row may be opened
-- again; of parks only the last; runs are told by their attempt.
local function answered(row, fence, as)
  local head = change(row)
  if head[ANSWERED_AS] == 'look' and head[ANSWERED] ~= fence then
    local kept = head[ANSWERS] or {}
    kept[#kept + 1] = head[ANSWERED]
    head[ANSWERS] = kept
  end
  head[ANSWERED], head[ANSWERED_AS] = fence, as
end

-- --- alerts ---------------------------------------------------------------------------------------------------

-- An alert is {job, kind, level, code, detail, occurrence, opened_at, updated_at, count, closed_at}.
local alerts, told_about = {}, {}  -- told_about: the occurrence under which `alert:of` has the alert

local function alert_name(job, kind)
  return string.format('%d:', #job) .. job .. kind
end

local function load_alert(id)
  local alert = alerts[id]
  if not alert then
    local packed = hget('alert', pad(id))
    alert = packed and cmsgpack.unpack(packed)
    alerts[id], told_about[id] = alert, alert and alert[6]
  end
  return alert
end

local function keep_alert(id, alert)
  alerts[id] = alert
  hset('alert', pad(id), cmsgpack.pack(alert))
end

-- Where an alert ends up counts: in one script it may have been about one occurrence and then about another.
before_flush[#before_flush + 1] = function()
  for id, alert in pairs(alerts) do
    local before, about = told_about[id], alert and alert[6]
    if alert and before ~= about then
      if before then
        zrem('alert:of', pad(before) .. ':' .. pad(id))
      end
      if about then
        zadd('alert:of', 0, pad(about) .. ':' .. pad(id))
      end
      told_about[id] = about
    end
  end
end

-- An urgent alert is about the occurrence that needs a person: no other closes it, and milder news of others only count
-- (core.escalate.is_kept).  When that one is dealt with, it goes on to the next of its kind.
local URGENT = 3

local function kind_of(head)
  if head[CODE] == 'poison' then
    return 'poison'
  end
  return RAN[head[VERDICT]] and 'failing' or 'missed'
end

-- The heads of those rows that are of the job, by their members: as this script has changed them, else as they are stored.
-- They are only looked at: of a hundred thousand rows nothing is kept.
local function heads_of(job, members)
  local scores = call('ZMSCORE', PREFIX .. 'rows:' .. job, unpack(members))
  local heads_, asked = {}, {}
  for index, member in ipairs(members) do
    local row = rows[tonumber(member)]
    if row then
      heads_[member] = scores[index] and row.head
    elseif scores[index] then
      asked[#asked + 1] = member
    end
  end
  local found = #asked > 0 and call('HMGET', PREFIX .. 'head', unpack(asked)) or {}
  for index, packed in ipairs(found) do
    heads_[asked[index]] = packed and { cmsgpack.unpack(string.sub(packed, 4)) }
  end
  return heads_
end

-- The newest other row of the alert's job that needs a person for what the alert is about.  The newest are asked about
-- first, a page at a time: everything that waits at once may be a hundred thousand rows.
local function next_to_tell(alert)
  local first, members = 0
  repeat
    members = call('ZREVRANGE', PREFIX .. 'failed', first, first + 499)
    local heads_ = #members > 0 and heads_of(alert[1], members) or {}
    for _, member in ipairs(members) do
      local head, id = heads_[member], tonumber(member)
      if head and id ~= known(alert[6]) and head[STATE] == 'FAILED_MANUAL' and kind_of(head) == alert[2] then
        return load(id)
      end
    end
    first = first + #members
  until #members < 500
end

-- A text as JSON has it, and as the other stores write it.
local SHORT = { ['"'] = '\\"', ['\\'] = '\\\\', ['\n'] = '\\n', ['\r'] = '\\r', ['\t'] = '\\t', ['\b'] = '\\b', ['\f'] = '\\f' }

local function quoted(text)
  return '"' .. string.gsub(text, '[%z\1-\31"\\]', function(char)
    return SHORT[char] or string.format('\\u%04x', string.byte(char))
  end) .. '"'
end

local function detail_of_next(row, before)
  local head = row.head
  local is_read, told = pcall(cjson.decode, before)
  local owner = is_read and type(told) == 'table' and type(told.owner) == 'string' and told.owner or ''
  local about = '{"run": "r' .. int(row.id) .. '", "key": ' .. quoted(head[KEY]) .. ', "attempt": ' .. int(head[ATTEMPT])
    .. ', "owner": ' .. quoted(owner)
  return about .. (string.find(head[DETAIL], '^{".*}$') and ', ' .. string.sub(head[DETAIL], 2) or '}')
end

local function close_alert(id, alert)
  local row = alert[3] >= URGENT and next_to_tell(alert)
  alert[8] = now
  if row then
    alert[4], alert[5], alert[6] = row.head[CODE], detail_of_next(row, alert[5]), row.id
    keep_alert(id, alert)
    return
  end
  alert[10] = now
  keep_alert(id, alert)
  hset('alert:open', alert_name(alert[1], alert[2]), false)
end

-- write is {job, kind, level, code, detail, occurrence, clear}
local function write_alert(write)
  local name = alert_name(write[1], write[2])
  local open = hget('alert:open', name)
  local id = open and tonumber(open)
  local alert = id and load_alert(id)
  local about = known(write[6])
  local is_kept = alert and alert[3] >= URGENT and known(alert[6]) and alert[6] ~= about
    and (write[7] or write[3] < URGENT)
  if write[7] then
    if alert and not is_kept then
      close_alert(id, alert)
    end
    return
  end
  if is_kept then
    alert[8], alert[9] = now, alert[9] + 1
  elseif alert then
    alert[3], alert[4], alert[5] = math.max(alert[3], write[3]), write[4], write[5]
    alert[6], alert[8], alert[9] = about, now, alert[9] + 1
  else
    id = next_number('alert')
    alert = { write[1], write[2], write[3], write[4], write[5], about, now, now, 1, false }
    hset('alert:open', name, tostring(id))
  end
  keep_alert(id, alert)
end

local function alert_ids_of(id)
  local ids = {}
  local begin = pad(id) .. ':'
  for _, member in ipairs(call('ZRANGEBYLEX', PREFIX .. 'alert:of', '[' .. begin, '(' .. begin .. '~')) do
    ids[#ids + 1] = tonumber(string.sub(member, -12))
  end
  return ids
end

-- Close what is open about an occurrence that a person has dealt with.
local function close_alerts_of(id)
  for _, number in ipairs(alert_ids_of(id)) do
    local alert = load_alert(number)
    if alert and alert[6] == id and not alert[10] then
      close_alert(number, alert)
    end
  end
end
