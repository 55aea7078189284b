-- settle: apply outcomes, each guarded by its fence and judged by itself; see the port.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {worker, items, link or null};  ARGV[5...] bodies of the rows that come along
--          an item is {id, fence, event, due_at, lease, gates, verdict, code, detail, checks, ledger, adds, facts, alerts,
--          result, error}, gates are {revision, pause_version, {{fact, version}, ...}, slot, ignore_window};
--          a success that carries nothing else is {id, fence, verdict, code, detail, result, error}
-- returns  {news, answers} or {0, 'broken'}; an answer is 1 (a success applied, fence as asked) or
--          {outcome, fence, lease_until, {changed}, holder, state}
-- invariant: only the newest fence of a row that somebody holds changes anything; an end is never undone.
-- USES: unit rows keys ledger facts ending chain

local STARTS = { start = true, takeover = true }

local function answer(outcome, fields)
  fields = fields or {}
  return { outcome, fields.fence or 0, fields.lease_until or 0, fields.changed or {}, fields.holder or false,
    fields.state or false }
end

-- Has this fence had its outcome already?  A start is one, while the run that it began goes on under its fence.
local function is_answered(row, item)
  local head = row.head
  if head[FENCE] == item[S_FENCE] and head[HOLDER] ~= '' then
    return STARTS[item[S_EVENT]] and head[STATE] == 'RUNNING' and head[LOOKING] == 0
  end
  if item[S_FENCE] == 0 then
    return false  -- it was never taken
  end
  return head[ANSWERED] == item[S_FENCE] or had_outcome(row, item[S_FENCE])
end

-- Do moments of the series itself come along?  Only the frontier yields any, and by the rule in force.
local function derives(head, item)
  for _, new in ipairs(item[S_ADDS] or {}) do
    if new[N_ORIGIN] == 'schedule' and new[N_JOB] == head[JOB] and new[N_SUBJECT] == head[SUBJECT] then
      return true
    end
  end
  return false
end

-- Would the row hand the frontier over to a row that comes along?
local function passes_on(row, item)
  if row.head[FRONTIER] ~= 1 or not item[S_ADDS] then
    return false
  end
  for _, new in ipairs(item[S_ADDS]) do
    if new[N_FRONTIER] == 1 and new[N_JOB] == row.head[JOB] and new[N_SUBJECT] == row.head[SUBJECT] then
      return true
    end
  end
  return false
end

local function is_in_force(name, item)
  local job = job_of(name)
  return not item[S_GATES] or (job and job[J_REVISION] == item[S_GATES][G_REVISION])
end

local function contains(names, name)
  for _, other in ipairs(names) do
    if other == name then
      return true
    end
  end
  return false
end

-- The names of the gates that moved since the decision.
local function moved_gates(row, gates)
  local head, job = row.head, job_of(row.head[JOB])
  local names = {}
  if head[CANCEL] == 1 then
    names[1] = 'cancel'
  end
  if not job or job[J_REVISION] ~= gates[G_REVISION] then
    names[#names + 1] = 'revision:' .. head[JOB]
  end
  if job and job[J_PAUSE_VERSION] ~= gates[G_PAUSE] then
    names[#names + 1] = 'pause:' .. head[JOB]
  end
  for _, name in ipairs(moved(gates[G_FACTS])) do
    if not contains(names, name) then
      names[#names + 1] = name
    end
  end
  if gates[G_SLOT] ~= '' then
    local other = occupant(gates[G_SLOT])
    if other and other ~= row.id then
      names[#names + 1] = gates[G_SLOT]
    end
    local held = slot_of(row)
    if held and held ~= gates[G_SLOT] then
      names[#names + 1] = held  -- a slot is the occurrence's until that ends, so a second one is refused
    end
  end
  return names
end

-- Compare what the decision saw with what is; the look lease stays in place, so that the caller may decide again.
local function refusal(row, gates)
  local head, names = row.head, moved_gates(row, gates)
  if #names > 0 then
    return answer('changed', { changed = names, state = head[STATE] })
  end
  if not gates[G_IGNORE_WINDOW] then
    if head[NOT_BEFORE] and now < head[NOT_BEFORE] then
      return answer('changed', { changed = { 'window' }, state = head[STATE] })
    end
    if head[NOT_AFTER] and now >= head[NOT_AFTER] then
      return answer('closed', { state = head[STATE] })
    end
  end
  if not head[FIRST] and head[EXPIRES] and now > head[EXPIRES] then
    return answer('closed', { state = head[STATE] })
  end
  local holder = claim_if_free(row)
  if holder then
    count('duplicates_refused', 1)
    return answer('duplicate', { holder = holder.id, state = head[STATE] })
  end
  return nil
end

-- What is held wakes whenever a rollback is written; what waits for something else, and a retry of what was started, may
-- be a repeat, too; but take knows nothing of rollbacks.
local function gate_if_in_lost_range(head, gates)
  local is_seen = head[CODE] == 'held_rollback' or head[CODE] == 'restored_epoch'
  for _, pair in ipairs(gates and gates[G_FACTS] or {}) do
    is_seen = is_seen or pair[1] == 'rollback'
  end
  if is_seen then
    head[GATED] = 1
  end
end

local function start(row, item)
  local gates = item[S_GATES]
  if gates[G_SLOT] ~= '' then
    occupy(gates[G_SLOT], row)
  end
  local head = change(row)
  head[STATE], head[DUE], head[LOOKING], head[FRONTIER] = 'RUNNING', now + item[S_LEASE], 0, 0
  head[ATTEMPT], head[STARTED], head[FIRST] = head[ATTEMPT] + 1, now, head[FIRST] or now
  head[REVISION], head[RUN_FENCE], head[RUN_WORKER] = gates[G_REVISION], head[FENCE], head[HOLDER]
  head[VERDICT] = item[S_VERDICT] ~= '' and item[S_VERDICT] or 'should_run'
  head[CODE] = item[S_CODE] ~= '' and item[S_CODE] or 'started'
  head[DETAIL] = item[S_CODE] ~= '' and item[S_DETAIL] or '{}'
  gate_if_in_lost_range(head, gates)
  return head[DUE]
end

local function wait(row, item, state, words)
  local head, moment = change(row), item[S_DUE]
  if item[S_EVENT] == 'park' then
    local seen = item[S_GATES] and item[S_GATES][G_FACTS] or {}
    if #seen > 0 then
      if #moved(seen) > 0 then
        moment = now  -- no wake-up is lost between the decision and this park
      else
        wait_for(row, seen)
      end
    end
    if head[STATE] == 'PENDING' and (not head[FIRST] or head[CODE] == 'slot_wait') then
      leave_slots(row)  -- it was handed to a row that waits for something else: who runs keeps its slot, who waits has none
    end
    if head[CANCEL] == 1 then
      moment = math.min(moment, now + CANCEL_WITHIN)
    end
  else
    say(row, item[S_RESULT], item[S_ERROR])
    archive(row, ATTEMPT_ENDS[state], item[S_ERROR])
    if item[S_EVENT] == 'hand_back' and head[LOOKING] == 0 then
      head[ATTEMPT] = head[ATTEMPT] - 1  -- a lost attempt stays counted
    end
  end
  if passes_on(row, item) then
    head[FRONTIER] = 0  -- its successor takes the flag over
  end
  head[STATE], head[DUE], head[HOLDER], head[LOOKING] = state, moment, '', 0
  head[VERDICT], head[CODE], head[DETAIL] = words[1], words[2], words[3]
  gate_if_in_lost_range(head, item[S_GATES])
  due(moment, head[WORKER])
end

local function leave(row, item, event, state)
  local head = row.head
  local verdict, code, detail
  if event == item[S_EVENT] then
    verdict = item[S_VERDICT] ~= '' and item[S_VERDICT] or head[VERDICT]
    code = item[S_CODE] ~= '' and item[S_CODE] or head[CODE]
    detail = item[S_CODE] ~= '' and item[S_DETAIL] or head[DETAIL]
  else  -- the requested cancel won over what the holder had to say
    verdict, code, detail = head[VERDICT], 'cancelled', '{}'
  end
  if verdict ~= 'skip_duplicated' and verdict ~= 'skip_superseded' then
    claim_if_free(row)  -- the first due look claims; where another holds it, a later look will say so
  end
  answered(row, item[S_FENCE], event == 'park' and 'park' or head[RUN_FENCE] == 0 and 'look' or 'run')
  if OPEN[state] then
    wait(row, item, state, { verdict, code, detail })
    return
  end
  if verdict == 'skip_duplicated' then
    local holder = holder_of(head[KEY])
    head[DUPLICATE_OF] = holder and holder.id or head[DUPLICATE_OF]
  end
  finish(row, state, { verdict, code, detail }, item[S_RESULT], item[S_ERROR])
end

-- Was it a revision that ended this moment, although one in force yields it?
local function is_ruled(new, row)
  local job = job_of(new[N_JOB])
  return row.head[CODE] == 'revision_superseded' and job and job[J_REVISION] == new[N_REVISION]
    and job[J_EFFECTIVE] < new[N_SCHEDULED]
end

local function follow_up(row, item, new)
  if new[N_FRONTIER] == 1 then  -- only while the rule that yielded it is still in force
    local job = job_of(new[N_JOB])
    local wanted = item[S_GATES] and item[S_GATES][G_REVISION] or new[N_REVISION]
    if not job or job[J_REVISION] ~= wanted then
      return
    end
  end
  local id = find(new)
  if not id then
    insert(new)
    return
  end
  local other = load(id)
  if id ~= row.id and is_superseded(other) and (new[N_SCHEDULED] > now or is_ruled(new, other)) then
    reopen(other, new)
  end
end

local function carry(row, item, overruled)
  for _, new in ipairs(item[S_ADDS] or {}) do
    follow_up(row, item, new)
  end
  for _, fact in ipairs(item[S_FACTS] or {}) do
    write_fact(fact[1], known(fact[2]), fact[3])
  end
  for _, alert in ipairs(item[S_ALERTS] or {}) do
    if alert[7] or not overruled then  -- a failure that a requested cancel overruled alarms nobody
      write_alert(alert)
    end
  end
end

local function judge(worker, item)
  local row = load(item[S_ID])
  if not row then
    count('stale_refused', 1)
    return answer('stale')
  end
  local head = row.head
  if is_answered(row, item) then
    local runs = head[STATE] == 'RUNNING' and head[FENCE] == item[S_FENCE]
    return answer('applied', { fence = item[S_FENCE], lease_until = runs and head[DUE] or 0, state = head[STATE] })
  end
  if head[FENCE] ~= item[S_FENCE] or head[HOLDER] == '' then
    count('stale_refused', 1)
    return answer('stale', { state = head[STATE] })
  end
  local event = item[S_EVENT]
  if head[CANCEL] == 1 and CANCEL_WINS_OVER[event] then
    event = 'cancel'
  end
  local state = TRANSITIONS[head[STATE] .. ' ' .. event]
  if not state or (event == 'park' and head[STATE] == 'RUNNING' and head[LOOKING] == 0) then
    return answer('changed', { changed = { 'state' }, state = head[STATE] })
  end
  if derives(head, item) and not (head[FRONTIER] == 1 and is_in_force(head[JOB], item)) then
    return answer('changed', { changed = { 'revision:' .. head[JOB] }, state = head[STATE] })
  end
  local lease_until = 0
  if STARTS[event] then
    local refused = refusal(row, item[S_GATES])
    if refused then
      return refused
    end
    lease_until = start(row, item)
  else
    leave(row, item, event, state)
  end
  if item[S_LEDGER] then
    log_row(row, event, item[S_CHECKS], worker, '')
  end
  carry(row, item, event ~= item[S_EVENT])
  if state == 'SUCCESS' then
    return 1
  end
  return answer('applied', { fence = item[S_FENCE], lease_until = lease_until, state = state })
end

-- A success that carries nothing else is what happens ten thousand times: compared with its guard, and ended.
local function succeed_plainly(worker, item)
  local row = load(item[1])
  local head = row and row.head
  local verdict, code, detail, result, error = unpack(item, 3, 7)
  if not head or head[FENCE] ~= item[2] or head[HOLDER] == '' or head[STATE] ~= 'RUNNING' or head[LOOKING] ~= 0 then
    return judge(worker, { item[1], item[2], 'succeed', false, 0, false, verdict, code, detail, '[]', false, false, false,
      false, result, error })
  end
  claim_if_free(row)
  answered(row, item[2], 'run')
  if code == '' then
    code, detail = head[CODE], head[DETAIL]
  end
  finish(row, 'SUCCESS', { verdict ~= '' and verdict or nil, code, detail }, result, error)
  return 1
end

begin()
local first = recall()
if first then
  return { 0, first }
end
local worker, items, link = unpack(cjson.decode(ARGV[4]))
link = known(link)
if link and not follows(link) then
  return { 0, 'broken' }
end
local ids = {}
for index, item in ipairs(items) do
  for position = 1, #item do
    item[position] = known(item[position])
  end
  cleaned(item[S_ADDS])
  assert(#item == 7 or #item == S_ERROR, 'an outcome has another form')
  assert(not STARTS[item[S_EVENT]] or item[S_GATES], 'a start carries the gates it was decided on')
  ids[index] = item[S_ID]
end
load_many(ids)
local answers = {}
for index, item in ipairs(items) do
  answers[index] = (#item == 7 and succeed_plainly or judge)(worker, item)
end
remember(answers)
if link then
  append(link)
end
local news = commit()
keep_rings()
return { news, answers }
