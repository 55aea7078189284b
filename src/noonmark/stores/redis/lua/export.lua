-- export: read records that belong to occurrences, in the order of their numbers.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {kind, id, offset, limit, ids}: from record `offset` of occurrence `id` on, at most `limit` records of at
--          most `ids` occurrences; limit 0 = only count
-- returns  {next id, next offset, 1 when that was all, count, records}
-- invariant: writes nothing; the order is fixed.
-- USES: unit rows keys ledger

local kind, from, offset, limit, ids_at_most = unpack(cjson.decode(ARGV[4]))

local READERS = {
  occurrence = function(id)
    local row = load(id)
    if not row then
      return {}
    end
    local result, error = said(row)
    return { { id, body_of(row), result, error, row.head } }
  end,
  claim = function(id)
    local row = load(id)
    if not row or row.head[CLAIMED] ~= 1 then
      return {}
    end
    local holder = holder_of(row.head[KEY])
    return holder and holder.id == id and { { row.head[KEY], row.head[GENERATION], id } } or {}
  end,
  waiter = function(id)
    local row, found = load(id), {}
    for _, name in ipairs(row and row.head[WAITS] or {}) do
      local version = call('ZSCORE', PREFIX .. 'wait:' .. name, pad(id))
      if version then
        found[#found + 1] = { name, tonumber(version), id }
      end
    end
    return found
  end,
  attempt = function(id)
    local found = {}
    for index, try in ipairs(attempts_of(id)) do
      found[index] = { id, try }
    end
    return found
  end,
  outcome = function(id)
    local row, found = load(id), {}
    for index, fence in ipairs(row and row.head[ANSWERS] or {}) do
      found[index] = { id, fence }
    end
    if row and row.head[ANSWERED_AS] == 'look' then
      found[#found + 1] = { id, row.head[ANSWERED] }
    end
    return found
  end,
  note = function(id)
    local notes = {}
    for index, packed in ipairs(call('HVALS', PREFIX .. 'note:' .. int(id))) do
      notes[index] = { id, cmsgpack.unpack(packed) }
    end
    table.sort(notes, function(a, b) return a[2][1] < b[2][1] end)
    return notes
  end,
  ledger = function(id)
    local lines = {}
    for index, packed in ipairs(call('LRANGE', PREFIX .. log_key(id), 0, -1)) do
      lines[index] = { id, cmsgpack.unpack(packed) }
    end
    return lines
  end,
}

local COUNTERS = {
  note = function(id) return call('HLEN', PREFIX .. 'note:' .. int(id)) end,
  ledger = function(id) return call('LLEN', PREFIX .. log_key(id)) end,
}

local highest = tonumber(call('HGET', KEYS[1], 'id') or '0')
local last = math.min(from + ids_at_most - 1, highest)
if kind ~= 'note' and kind ~= 'ledger' then
  local ids, fields = {}, {}
  for id = from, last do
    ids[#ids + 1] = id
    fields[#fields + 1] = pad(id)
  end
  if kind == 'attempt' then
    prefetch('attempt', fields)
  else
    load_many(ids)
  end
end
local records, total, size = {}, 0, 0
for id = from, last do
  if limit == 0 and COUNTERS[kind] then
    total = total + COUNTERS[kind](id)
  else
    for index, record in ipairs(READERS[kind](id)) do
      total = total + 1
      if limit > 0 and index > offset then
        records[#records + 1] = record
        if #records >= limit then
          return { id, index, 0, total, records }
        end
      end
    end
    offset = 0
  end
end
return { last + 1, 0, last >= highest and 1 or 0, total, records }
