-- common_unit: the unit of work.  Every verb reads first and writes last.
--
-- Redis does not undo a script that fails midway, so nothing is written before `flush`: what a verb changes is kept in
-- Lua tables, where later steps of the same script see it, and goes out in a few batched commands at the very end.
-- A script that fails before its flush has changed nothing.
--
-- KEYS[1]  {prefix}meta: names the namespace's slot; every other key is computed from its prefix, hash tag included.
-- KEYS[2]  {prefix}moving: never exists.  While a cluster moves the slot key by key, a script that names a missing key
--          is refused as a whole (TRYAGAIN, ASK) instead of failing in the middle of its writes.
-- ARGV[1]  the instant to act at, microseconds (tests only), or '' for the server's own time
-- ARGV[2]  name of the request, or '' when the verb is not remembered
-- ARGV[3]  the command that publishes a hint (PUBLISH or SPUBLISH), a blank, and who speaks
-- ARGV[4]  what the verb is about, as JSON;  ARGV[5...]  texts that no script looks into, referred to by their index

local PREFIX = string.sub(KEYS[1], 1, -5)
local call = redis.call
local null = cjson.null
local NO_MOMENT = 2 ^ 62
local SECOND = 1000000
local PAUSED_AT_MOST = 5 * SECOND  -- how long a clock that was set back may hold up the store

-- Numbers are doubles: exact up to 2^53 (the year 2255 in microseconds), but tostring would print 14 digits.
local texts = {}

local function int(number)
  local text = texts[number]
  if not text then
    text = string.format('%.0f', number)
    texts[number] = text
  end
  return text
end

local function pad(id)
  return string.format('%012.0f', id)
end

local function known(value)
  if value == nil or value == null then
    return false
  end
  return value
end

-- --- plain hashes, with what this script has changed laid over them -------------------------------------

local overlay, changed_fields = {}, {}

local function hget(name, field)
  local over = overlay[name]
  if over then
    local value = over[field]
    if value ~= nil then
      return value
    end
  else
    over = {}
    overlay[name] = over
  end
  local value = call('HGET', PREFIX .. name, field)
  over[field] = value
  return value
end

local function prefetch(name, fields)
  local over = overlay[name]
  if not over then
    over = {}
    overlay[name] = over
  end
  for first = 1, #fields, 1000 do
    local last = math.min(first + 999, #fields)
    local values = call('HMGET', PREFIX .. name, unpack(fields, first, last))
    for index = first, last do
      if over[fields[index]] == nil then
        over[fields[index]] = values[index - first + 1]
      end
    end
  end
end

-- value false deletes the field
local function hset(name, field, value)
  local over = overlay[name]
  if not over then
    over = {}
    overlay[name] = over
  end
  over[field] = value
  local fields = changed_fields[name]
  if not fields then
    fields = {}
    changed_fields[name] = fields
  end
  fields[field] = true
end

-- --- the numbers of the namespace and its time ---------------------------------------------------------

local META = { 'id', 'seq', 'alert', 'revision', 'rules', 'mark', 'behind' }
local meta, meta_changed = {}, {}
local now, timed, moved_back

local function set_meta(name, value)
  meta[name] = value
  meta_changed[name] = true
end

local function next_number(name)
  set_meta(name, meta[name] + 1)
  return meta[name]
end

-- The store's time never goes back by itself: behind the latest instant ever written it stands still, for at most five
-- seconds; then the server's clock is believed, and `rebase` (rows) moves along what is a length of time.
local function read_clock()
  local values = call('HMGET', KEYS[1], unpack(META))
  for index, name in ipairs(META) do
    meta[name] = tonumber(values[index] or '0')
  end
  if ARGV[1] ~= '' then
    now = tonumber(ARGV[1])
    return
  end
  local time = call('TIME')
  local wall = tonumber(time[1]) * SECOND + tonumber(time[2])
  timed = true
  if wall >= meta.mark then
    now = wall
    if meta.behind ~= 0 then
      set_meta('behind', 0)
    end
    set_meta('mark', wall)
  elseif meta.behind ~= 0 and wall - meta.behind >= PAUSED_AT_MOST then
    moved_back = meta.mark - wall
    now = wall
    set_meta('behind', 0)
    set_meta('mark', wall)
  else
    now = meta.mark
    if meta.behind == 0 or wall < meta.behind then
      set_meta('behind', wall)
    end
  end
end

-- --- counts, sorted sets, publishing ------------------------------------------------------------------

local counts, zadds, zrems, sadds = {}, {}, {}, {}
local earliest = NO_MOMENT

local function count(name, by)
  counts[name] = (counts[name] or 0) + by
end

local function zadd(name, score, member)
  local list = zadds[name]
  if not list then
    list = {}
    zadds[name] = list
  end
  list[#list + 1] = int(score)
  list[#list + 1] = member
end

local function zrem(name, member)
  local list = zrems[name]
  if not list then
    list = {}
    zrems[name] = list
  end
  list[#list + 1] = member
end

-- Note that a row is due at this moment now; a row of one worker is always news to it.
local function due(moment, worker)
  if worker ~= '' then
    earliest = -1
  elseif moment < earliest then
    earliest = moment
  end
end

local function send(command, key, list)
  for first = 1, #list, 2000 do
    call(command, key, unpack(list, first, math.min(first + 1999, #list)))
  end
end

local function first_of(name)
  local head = call('ZRANGE', PREFIX .. name, 0, 0, 'WITHSCORES')
  return head[2] and tonumber(head[2]) or NO_MOMENT
end

local function earliest_common()
  return math.min(first_of('due:new'), first_of('due:parked'), first_of('due:held'))
end

-- --- remembered answers -------------------------------------------------------------------------------

-- Returns the first answer to this request, or nil when it is new.  The touch makes it a write, so that a caller who
-- then waits for the disk or a replica (WAITAOF, WAIT) waits for the first answer, too.
local function recall()
  if ARGV[2] == '' then
    return nil
  end
  local kept = call('GET', PREFIX .. 'req:' .. ARGV[2])
  if not kept then
    return nil
  end
  call('PEXPIRE', PREFIX .. 'req:' .. ARGV[2], REMEMBERED_MS)
  return cmsgpack.unpack(kept)
end

local answer_kept

local function remember(answer)
  answer_kept = answer
end

-- --- and out it goes ----------------------------------------------------------------------------------

local before_flush = {}
local heads = {}  -- packed heads of changed rows, field by field

local function flush_hashes()
  for name, fields in pairs(changed_fields) do
    local sets, gone = {}, {}
    local over = overlay[name]
    for field in pairs(fields) do
      if over[field] == false then
        gone[#gone + 1] = field
      else
        sets[#sets + 1] = field
        sets[#sets + 1] = over[field]
      end
    end
    send('HSET', PREFIX .. name, sets)
    send('HDEL', PREFIX .. name, gone)
  end
  changed_fields = {}
end

local function flush_meta()
  local sets = {}
  for name in pairs(meta_changed) do
    sets[#sets + 1] = name
    sets[#sets + 1] = int(meta[name])
  end
  send('HSET', KEYS[1], sets)
  meta_changed = {}
end

-- Everything that goes out is made ready by `before_flush` (rows, ledger); from the first command on nothing can fail.
local function flush()
  for _, prepare in ipairs(before_flush) do
    prepare()
  end
  local news = earliest < NO_MOMENT and earliest < earliest_common()
  local request = answer_kept and cmsgpack.pack(answer_kept)
  flush_hashes()
  send('HSET', PREFIX .. 'head', heads)
  flush_meta()
  for name, by in pairs(counts) do
    if by ~= 0 then
      call('HINCRBY', PREFIX .. 'count', name, int(by))
    end
  end
  for name, list in pairs(zrems) do
    send('ZREM', PREFIX .. name, list)
  end
  for name, list in pairs(zadds) do
    send('ZADD', PREFIX .. name, list)
  end
  for name, list in pairs(sadds) do
    send('SADD', PREFIX .. name, list)
  end
  counts, zadds, zrems, sadds, heads, earliest = {}, {}, {}, {}, {}, NO_MOMENT
  if request then
    call('SET', PREFIX .. 'req:' .. ARGV[2], request, 'PX', REMEMBERED_MS)
    answer_kept = nil
  end
  if news and ARGV[3] ~= '' then
    local command, speaker = string.match(ARGV[3], '^(%u+) (.*)$')
    call(command, PREFIX .. 'wake', speaker)
  end
  return news
end
