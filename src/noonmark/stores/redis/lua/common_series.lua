-- common_series: rules in force, and the rows of a series that a change of rule leaves behind.
--
-- Whatever a revision does not yield again ends, what it yields again keeps its row, what is due already meets the new
-- gates.  A worker's own rows are touched by that worker's frontiers only.

-- A row that stays behind is {occurrence, fence, verdict, code, detail, checks}.
local function are_frontiers(passed)
  for _, gone in ipairs(passed) do
    local row = load(gone[1])
    if not row or row.head[FENCE] ~= gone[2] or row.head[FRONTIER] ~= 1 or not row.head[DUE] then
      return false
    end
  end
  return true
end

-- Let frontier rows that nobody looked at go, and put in what became of the moments after them.
local function leave_behind(job, passed, adds, actor, gated)
  for _, gone in ipairs(passed) do
    local row = load(gone[1])
    if gone[3] == '' or row.head[CANCEL] == 1 then  -- the look will carry out the cancel
      change(row)[FRONTIER] = 0
    else
      finish(row, 'SKIPPED', { gone[3], gone[4], gone[5] }, nil, nil, true)
      log_row(row, 'skip', gone[6], '', actor)
    end
  end
  for _, new in ipairs(adds) do
    if gated then
      new[N_GATED] = 1  -- take knows nothing of the new gates, so somebody must look
    end
    if new[N_STATE] == 'PENDING' then
      new[N_REVISION] = job[J_REVISION]
    end
    if not find(new) then
      insert(new)
    end
  end
end

local function event_member(event, name)
  return string.format('%d:', #event) .. event .. name
end

-- Which jobs an event triggers can be read without reading every job.
local function listen_for(name, before, event)
  if before ~= '' and before ~= event then
    zrem('event', event_member(before, name))
  end
  if event ~= '' then
    zadd('event', 0, event_member(event, name))
  end
end

-- Put a new revision in force; its rule is kept for ever, under the number of the change, with the number of the one before.
local function put_job(name, job, rule, actor)
  local before = job[J_SEQ]
  job[J_SEQ] = next_number('revision')
  hset('revision', pad(job[J_SEQ]),
    cmsgpack.pack({ name, rule, job[J_DIGEST], job[J_REVISION], job[J_EFFECTIVE], job[J_EVENT], actor, now, before }))
  keep_job(name, job)
  set_meta('rules', meta.rules + 1)
end

local function series_ids(name)
  local ids = {}
  for index, member in ipairs(call('ZRANGE', PREFIX .. 'series:' .. name, 0, -1)) do
    ids[index] = tonumber(member)
  end
  load_many(ids)
  for _, id in ipairs(young_series[name] or {}) do
    ids[#ids + 1] = id
  end
  return ids
end

-- Let the open scheduled rows of older revisions meet the one in force.  yielded: ids of the rows it yields again;
-- workers nil: those of every worker.
local function meet(name, job, yielded, workers, actor)
  for _, id in ipairs(series_ids(name)) do
    local row = rows[id]
    local head = row.head
    if head[DUE] and head[STATE] ~= 'RUNNING' and head[REVISION] < job[J_REVISION]
        and (not workers or workers[head[WORKER]]) then  -- a started attempt keeps its revision
      if head[SCHEDULED] <= job[J_EFFECTIVE] then
        head = change(row)
        head[FRONTIER], head[GATED], head[REVISION] = 0, 1, job[J_REVISION]
      elseif head[STATE] == 'PENDING' and not yielded[id] and head[CANCEL] == 1 then
        -- any end but a success carries the cancel out, and its key stays held
        finish(row, 'CANCELLED', { nil, 'cancelled', '{}' }, nil, nil, true)
        log_row(row, 'cancel', '[]', '', actor)
      elseif head[STATE] == 'PENDING' and not yielded[id] then
        finish(row, 'SKIPPED',
          { 'skip_superseded', 'revision_superseded', '{"revision": ' .. int(job[J_REVISION]) .. '}' }, nil, nil, true)
        log_row(row, 'skip', '[]', '', actor)
      end
    end
  end
end

local function raise_frontier(new, job)
  new[N_REVISION] = job[J_REVISION]
  local id = find(new)
  if not id then
    insert(new)
    return
  end
  local row = load(id)
  if row.head[STATE] == 'PENDING' then
    if row.head[CANCEL] == 1 then  -- what a person cancelled stays held under the name by which it was cancelled
      new[N_KEY] = row.head[KEY]
    else
      release_key(row)  -- the key is one of the things that are stamped anew
    end
    stamp(row, new)
  elseif is_superseded(row) then
    reopen(row, new)
  end
end
