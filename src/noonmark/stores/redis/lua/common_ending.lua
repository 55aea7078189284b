-- common_ending: how rows come in and how they end, the same for a settlement, a person's act and a new revision.
--
-- Inserting never fails because of a key; the loser is recorded.  An end leaves nothing behind that could hold up another
-- row: no due moment, no slot, no waiting; and no key, where the rule itself took the moment back.

local function insert_duplicate(new, holder, state)
  local refused = {}
  for index = 1, N_BODY do
    refused[index] = new[index]
  end
  refused[N_STATE], refused[N_VERDICT], refused[N_CODE] = 'SKIPPED', 'skip_duplicated', 'key_held'
  local row = create(refused, 0, 0)
  row.head[DETAIL] = '{"key": ' .. cjson.encode(new[N_KEY]) .. ', "holder": ' .. int(holder.id) .. ', "state": "' .. state .. '"}'
  row.head[DUPLICATE_OF] = holder.id
  zadd('dups', 0, key_member(new[N_KEY], row.id))
  count('duplicates_refused', 1)
  log_row(row, 'skip', '[]', '', new[N_ACTOR])
  return { 'duplicate_key', row.id, holder.id }
end

-- Insert one row whose identity is new, claiming its key if it wants that.
local function insert(new)
  local claims = new[N_STATE] == 'PENDING' and new[N_CLAIM] == 1 and new[N_KEY] ~= ''
  local generation = 0
  if claims then
    local holder, next_generation, state = look_at_key(new[N_KEY], new[N_ORIGIN], new[N_AGAIN] == 1)
    if holder then
      return insert_duplicate(new, holder, state)
    end
    generation = next_generation
  end
  local row = create(new, generation, 0)
  note_key(row)
  if claims then
    take_key(row, generation)
  end
  return { 'added', row.id, false }
end

local function stamp(row, new)
  local head = change(row)
  if head[KEY] ~= new[N_KEY] then
    drop_key(row)
    head[KEY] = new[N_KEY]
    note_key(row)
  end
  head[DUE], head[SCHEDULED], head[NOT_BEFORE], head[NOT_AFTER] =
    new[N_DUE], new[N_SCHEDULED], new[N_NOT_BEFORE], new[N_NOT_AFTER]
  head[EXPIRES], head[FRONTIER], head[GATED], head[REVISION] =
    new[N_EXPIRES], new[N_FRONTIER], new[N_GATED], new[N_REVISION]
  -- its own identity, range and moment of creation stay as they are: the new body has the same identity, no range
  put_body(row, new[N_BODY])
  due(new[N_DUE], head[WORKER])
end

local function reopen(row, new)
  stamp(row, new)
  opened(row)
  local head = row.head
  head[STATE], head[ENDED], head[VERDICT], head[CODE], head[DETAIL] = 'PENDING', false, '', '', '{}'
  log(row.id, head[JOB], 'reopen', '', '', '{}', '[]', '', head[FENCE], head[REVISION], '')
end

local function is_superseded(row)
  return row.head[STATE] == 'SKIPPED' and row.head[VERDICT] == 'skip_superseded'
end

-- words are {verdict, code, detail}; what is nil stays as it is on the row
local function finish(row, state, words, result, error, keep_said)
  local head = change(row)
  if not keep_said then
    say(row, result, error)
  end
  if head[RUN_FENCE] ~= 0 and state ~= 'SUCCESS' then
    archive(row, ATTEMPT_ENDS[state], error)
  end
  head[STATE], head[DUE], head[ENDED], head[HOLDER], head[LOOKING], head[FRONTIER] = state, false, now, '', 0, 0
  head[VERDICT], head[CODE], head[DETAIL] = words[1] or head[VERDICT], words[2], words[3]
  leave_slots(row)
  forget_waiting(row)
  if head[VERDICT] == 'skip_superseded' then
    release_key(row)
  end
  if YIELDING[state] and head[FENCE] > 0 and (head[ATTEMPT] > 0 or head[ACTOR] ~= '') then  -- core.escalate.may_be_told
    close_alerts_of(row.id)
  end
end

-- --- how a verb begins and ends ---------------------------------------------------------------------------------

local function begin()
  read_clock()
  if moved_back then
    rebase()
    write_alert({ '', 'clock', 2, 'clock_behind', '{"behind": ' .. int(moved_back) .. '}', false, false })
  end
end

local function waits_for(row, name)
  for _, other in ipairs(row.head[WAITS] or {}) do
    if other == name then
      return row.head[HOLDER] == '' and row.head[DUE]
    end
  end
  return false
end

-- The first in a queue whom nobody looks at: a page of it at a time, for a hundred thousand may wait.
local AT_ONCE = 20

local function first_in_queue(slot)
  local place_, members = 0
  repeat
    members = call('ZRANGE', PREFIX .. 'wait:' .. slot, place_, place_ + AT_ONCE - 1)
    local ids = {}
    for index, member in ipairs(members) do
      ids[index] = tonumber(member)
    end
    load_many(ids)
    for _, id in ipairs(ids) do
      if rows[id] and waits_for(rows[id], slot) then
        return rows[id]
      end
    end
    place_ = place_ + #members
  until #members < AT_ONCE
end

-- Give each slot that was left and is free still to the row with the oldest scheduled time that waits for it.
local function pass_slots_on()
  for slot in pairs(freed_slots) do
    local is_free = not occupant(slot)
    local oldest = is_free and first_in_queue(slot) or nil
    for _, row in pairs(is_free and waiting_here[slot] and rows or {}) do  -- those that this verb parked, too
      if row and waits_for(row, slot) then
        local older = not oldest or row.head[SCHEDULED] < oldest.head[SCHEDULED]
          or (row.head[SCHEDULED] == oldest.head[SCHEDULED] and row.id < oldest.id)
        oldest = older and row or oldest
      end
    end
    if oldest then
      forget_waiting(oldest)
      occupy(slot, oldest)
      change(oldest)[DUE] = math.min(oldest.head[DUE], now)
      due(now, oldest.head[WORKER])
    end
  end
  freed_slots = {}
end

-- Write what the verb changed; returns 1 when something became due earlier than any listener can know.
local function commit()
  pass_slots_on()
  local news = flush()
  flush_lines()
  watch_own_workers()
  return news and 1 or 0
end
