-- act: carry out what a person asked for, with who and why on record; see the port.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {kind, actor, reason, occurrence_id, key, job, effective_at, passed, adds, detail, new row of a cancel,
--          rollbacks as shown or null, what becomes of the rollbacks or null}
--          detail is the JSON of who and why; a rollback as shown is {number, end of the lost range}; what becomes of them
--          is {version of the fact as judged, outcome, the fact's value or null, whether all is over};  ARGV[5...] bodies
-- returns  {news, {outcome, {ids}, state or false}}; outcome 'moved': judge again, nothing was done or remembered
-- invariant: an act that comes too late is answered, not done.  A frontier is not ended here, since only the engine can
--            name its successor: a cancel is noted on it and carried out at its first look, a mark is refused.
-- USES: unit rows keys ledger facts ending series

local MARKS = {
  mark_done = 'marked_done', mark_skip = 'marked_skip', mark_handled = 'marked_handled',
}
local kind, actor, reason, occurrence_id, key, name, effective_at, passed, adds, detail, holding, shown, gone =
  unpack(cjson.decode(ARGV[4]))
occurrence_id, key, effective_at = known(occurrence_id), known(key), known(effective_at)
shown, gone = known(shown), known(gone)

local function by_person(row, code)
  local head = change(row)
  head[CODE], head[DETAIL], head[ACTOR], head[NOTE] = code, detail, actor, reason
end

local function end_by(row, state, event, code)
  -- what was superseded and is done after all keeps its key
  local verdict = row.head[STATE] == 'SKIPPED' and '' or nil
  finish(row, state, { verdict, code, detail }, nil, nil, true)
  by_person(row, code)
  log_row(row, event, '[]', '', actor)
  close_alerts_of(row.id)
end

local function named()
  if occurrence_id then
    return load(occurrence_id)
  end
  return key and key ~= '' and holder_of(key)
end

-- Does a rollback hold the row, and no worker have it?
local function is_let_be(head)
  return head[CODE] == 'held_rollback' and head[HOLDER] == ''
end

-- May a person's act end the row?  A run is its holder's to end, and a frontier has a successor to be named; but a run
-- that a rollback holds has no holder, and a frontier that it holds was looked at, so it has no successor.
local function is_ours_to_end(head)
  return is_let_be(head) or (head[FRONTIER] == 0 and head[STATE] ~= 'RUNNING')
end

-- --- cancel -------------------------------------------------------------------------------------------------------

local function targets()
  local ids = occurrence_id and { occurrence_id } or (key and key ~= '' and rows_with(key)) or {}
  load_many(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local row = rows[id]
    if row and TRANSITIONS[row.head[STATE] .. ' cancel'] then
      found[#found + 1] = row
    end
  end
  return found
end

-- End the row, or leave word for whoever can (true): only the holder of a run knows what it has done so far.
local function cancel_row(row)
  claim_if_free(row)  -- a cancel claims, too: a later create of the same thing must find it
  local head = change(row)
  if is_ours_to_end(head) then
    end_by(row, 'CANCELLED', 'cancel', 'cancelled')
    return false
  end
  head[CANCEL] = 1
  if head[FRONTIER] == 1 then  -- it has no other actor, and the look that ends it will say whose wish it was
    head[ACTOR], head[NOTE] = actor, reason
  end
  log(row.id, head[JOB], 'cancel_requested', '', 'cancel_requested', detail, '[]', '', head[FENCE], head[REVISION], actor)
  return true
end

local function cancel()
  local found = targets()
  if #found > 0 then
    local requested, ids = false, {}
    for index, row in ipairs(found) do
      requested = cancel_row(row) or requested
      ids[index] = row.id
    end
    return { requested and 'requested' or 'done', ids, found[1].head[STATE] }
  end
  local ended = named()
  if ended then
    return { 'already_done', { ended.id }, ended.head[STATE] }
  end
  if not key or key == '' then
    return { 'not_found', {}, false }
  end
  local added = insert(holding)
  end_by(load(added[2]), 'CANCELLED', 'cancel', 'cancelled_before_create')
  return { 'done', { added[2] }, 'CANCELLED' }
end

-- --- retry and marks ------------------------------------------------------------------------------------------------

local function take_up(row, state, code)
  forget_waiting(row)
  local head, job = change(row), job_of(row.head[JOB])
  -- whoever lets a row go does not take back what was cancelled: the look ends it, and says whose wish that was
  local is_cancelled, who, note = kind == 'release' and head[CANCEL] == 1, head[ACTOR], head[NOTE]
  by_person(row, code)
  if is_cancelled then
    head[ACTOR], head[NOTE] = who, note
  end
  head[STATE], head[DUE], head[ENDED], head[ATTEMPT], head[TAKEOVERS] = state, now, false, 0, 0
  head[CANCEL] = is_cancelled and 1 or 0
  -- judged like a manual run: by today's rule and window, which whoever looks at it compiles anew
  head[NOT_BEFORE], head[NOT_AFTER], head[EXPIRES], head[GATED] = false, false, false, 1
  head[REVISION] = job and job[J_REVISION] or head[REVISION]
  due(now, head[WORKER])
  log_row(row, kind, '[]', '', actor)
  return { 'done', { row.id }, state }
end

local function retry()
  local row = named()
  if not row then
    return { 'not_found', {}, false }
  end
  local state = TRANSITIONS[row.head[STATE] .. ' retry']
  if not state then
    return { 'refused', { row.id }, row.head[STATE] }
  end
  return take_up(row, state, 'retried')
end

-- Is every rollback that holds the row one that the person was shown, as it was shown?
local function may_go(head)
  local fact = shown and fact_of('rollback')
  if not fact or not fact[2] then
    return true
  end
  local named = {}
  for _, pair in ipairs(shown) do
    named[pair[1]] = pair[2]
  end
  for _, epoch in ipairs(cjson.decode(fact[2]).epochs or {}) do
    local stops, is_released = epoch['until'], known(epoch.released_at) or (epoch.jobs or {})[head[JOB]]
    local concerns = head[SCHEDULED] < stops and (head[CREATED] < epoch.detected_at or head[ORIGIN] == 'schedule')
    if concerns and not is_released and named[epoch.number] ~= stops then
      return false
    end
  end
  return true
end

local function let_rollbacks_go()
  local version, outcome, value, is_over = unpack(gone)
  local fact = fact_of('rollback')
  if (fact and fact[1] or 0) ~= version then
    return { 'moved', {}, false }
  end
  if known(value) then
    write_fact('rollback', value, actor)
  end
  if is_over then
    write_alert({ '', 'rollback', 0, '', '{}', false, true })
  end
  return { outcome, {}, false }
end

-- Let a row go that a rollback held, or (no row named) let rollbacks go and close their alert once all are over.
local function release()
  if not occurrence_id then
    return let_rollbacks_go()
  end
  local row = named()
  if not row then
    return { 'not_found', {}, false }
  end
  local head = row.head
  local state = TRANSITIONS[head[STATE] .. ' release']
  if not state or not is_let_be(head) or not may_go(head) then
    return { 'refused', { row.id }, head[STATE] }
  end
  return take_up(row, state, 'released')
end

-- What the catch-up rules passed over may have run all the same; any other skip is an end, and a record of a range has no key.
local function is_open_to_marks(row)
  local head = row.head
  return head[STATE] ~= 'SKIPPED' or (head[KEY] ~= '' and (is_superseded(row) or head[CODE] == 'missed_skipped'))
end

local function mark()
  local row = named()
  if not row then
    return { 'not_found', {}, false }
  end
  local head = row.head
  local state = TRANSITIONS[head[STATE] .. ' ' .. kind]
  if not state or not is_open_to_marks(row) or not is_ours_to_end(head) or not may_go(head) then
    local done = kind == 'mark_done' and head[STATE] == 'SUCCESS'
    return { done and 'already_done' or 'refused', { row.id }, head[STATE] }
  end
  local other = claim_if_free(row)
  if state == 'SUCCESS' then
    if other then
      return { 'refused', { other.id }, other.head[STATE] }
    end
    local date = cjson.decode(body_of(row))[3]
    write_fact('success:' .. head[JOB] .. ':' .. head[SUBJECT] .. ':' .. date, 'true', actor)
  end
  end_by(row, state, kind, MARKS[kind])
  return { 'done', { row.id }, state }
end

-- --- whole jobs -----------------------------------------------------------------------------------------------------

local function log_job(job)
  log(0, name, kind, '', '', detail, '[]', '', 0, job[J_REVISION], actor)
end

local function pause(job)
  local wanted = kind == 'pause'
  if job[J_PAUSED] == wanted then
    return { 'already_done', {}, false }
  end
  job[J_PAUSED], job[J_PAUSE_VERSION] = wanted, job[J_PAUSE_VERSION] + 1
  if wanted then
    job[J_PAUSED_AT], job[J_RESUMED_AT], job[J_REASON] = now, false, reason
  else
    job[J_RESUMED_AT] = now
  end
  keep_job(name, job)
  set_meta('rules', meta.rules + 1)
  wake('pause:' .. name)
  log_job(job)
  return { 'done', {}, false }
end

local function end_job(job)
  if job[J_DIGEST] == '' and job[J_EVENT] == '' then
    local packed = job[J_SEQ] ~= 0 and hget('revision', pad(job[J_SEQ]))
    if not packed or cmsgpack.unpack(packed)[2] == '' then
      return { 'already_done', {}, false }
    end
  end
  if not are_frontiers(passed) then
    return { 'refused', {}, false }
  end
  listen_for(name, job[J_EVENT], '')
  job[J_DIGEST], job[J_EVENT], job[J_REVISION] = '', '', job[J_REVISION] + 1
  job[J_EFFECTIVE] = effective_at and math.min(effective_at, now) or now
  put_job(name, job, '', actor)
  leave_behind(job, passed, adds, actor, true)
  meet(name, job, {}, nil, actor)
  log_job(job)
  return { 'done', {}, false }
end

local function act()
  if kind == 'cancel' then
    return cancel()
  elseif kind == 'retry' then
    return retry()
  elseif kind == 'release' then
    return release()
  elseif MARKS[kind] then
    return mark()
  end
  local job = job_of(name)
  if not job then
    return { 'not_found', {}, false }
  end
  return kind == 'end_job' and end_job(job) or pause(job)
end

begin()
local first = recall()
if first then
  return { 0, first }
end
cleaned(adds)
if holding ~= null then
  cleaned({ holding })
  holding[N_SCHEDULED], holding[N_DUE] = now, now
end
local answer = act()
if answer[1] ~= 'moved' then
  remember(answer)
end
return { commit(), answer }
