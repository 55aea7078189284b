-- common_keys: who holds which key, and which rows have it.
--
-- An entry of the hash `key` says "first|claimant,claimant": the first row that has the key, and the rows that claimed
-- it, the newest generation last.  Further rows stand in the sorted set `more`; recorded duplicates, of which there may be
-- very many, in `dups`, where no verb looks.

local entries = {}

local function entry_of(key)
  local entry = entries[key]
  if entry then
    return entry
  end
  entry = { first = 0, chain = {} }
  local text = hget('key', key)
  if text then
    local first, chain = string.match(text, '^(%d+)|(.*)$')
    entry.first = tonumber(first)
    for id in string.gmatch(chain, '%d+') do
      entry.chain[#entry.chain + 1] = tonumber(id)
    end
  end
  entries[key] = entry
  return entry
end

local function keep_entry(key, entry)
  if entry.first == 0 and #entry.chain == 0 then
    hset('key', key, false)
  elseif #entry.chain == 1 then
    hset('key', key, int(entry.first) .. '|' .. int(entry.chain[1]))
  else
    local ids = {}
    for index, id in ipairs(entry.chain) do
      ids[index] = int(id)
    end
    hset('key', key, int(entry.first) .. '|' .. table.concat(ids, ','))
  end
end

local function key_member(key, id)
  return string.format('%d:', #key) .. key .. pad(id)
end

-- Every row that is no recorded duplicate.
local function rows_with(key)
  local entry, ids = entry_of(key), {}
  if entry.first ~= 0 then
    ids[1] = entry.first
  end
  local begin = string.format('%d:', #key) .. key
  for _, member in ipairs(call('ZRANGEBYLEX', PREFIX .. 'more', '[' .. begin, '(' .. begin .. '~')) do
    if #member == #begin + 12 then
      ids[#ids + 1] = tonumber(string.sub(member, -12))
    end
  end
  table.sort(ids)
  return ids
end

local function note_key(row)
  local key = row.head[KEY]
  if key == '' then
    return
  end
  local entry = entry_of(key)
  if entry.first == 0 then
    entry.first = row.id
    keep_entry(key, entry)
  else
    zadd('more', 0, key_member(key, row.id))
  end
end

local function drop_key(row)
  local key = row.head[KEY]
  if key == '' then
    return
  end
  local entry = entry_of(key)
  if entry.first == row.id then
    entry.first = 0
    keep_entry(key, entry)
  else
    zrem('more', key_member(key, row.id))
  end
end

local function holder_of(key)
  local entry = entry_of(key)
  local id = entry.chain[#entry.chain]
  return id and load(id)
end

-- May a row of this origin take the key?  Returns the holder that keeps it (or nil), the generation it would be, and the
-- holder's state.
local function look_at_key(key, origin, again)
  local holder = holder_of(key)
  if not holder then
    return nil, 0
  end
  local state = holder.head[STATE]
  if (again and not OPEN[state]) or (YIELDING[state] and PERSONS[origin]) then
    return nil, holder.head[GENERATION] + 1
  end
  return holder, holder.head[GENERATION] + 1, state
end

local function take_key(row, generation)
  local head = change(row)
  local entry = entry_of(head[KEY])
  entry.chain[#entry.chain + 1] = row.id
  keep_entry(head[KEY], entry)
  head[CLAIMED], head[GENERATION] = 1, generation
end

-- Claim the row's key unless it has it; returns the row that holds it against this one, or nil.
local function claim_if_free(row)
  local head = row.head
  if head[CLAIMED] == 1 or head[KEY] == '' then
    return nil
  end
  local holder, generation = look_at_key(head[KEY], head[ORIGIN], false)
  if holder then
    return holder
  end
  take_key(row, generation)
  return nil
end

-- Give the key back, so that whoever held it before holds it again.
local function release_key(row)
  local head = change(row)
  if head[CLAIMED] ~= 1 then
    return
  end
  local entry = entry_of(head[KEY])
  for index = #entry.chain, 1, -1 do
    if entry.chain[index] == row.id then
      table.remove(entry.chain, index)
    end
  end
  keep_entry(head[KEY], entry)
  head[CLAIMED], head[GENERATION] = 0, 0
end
