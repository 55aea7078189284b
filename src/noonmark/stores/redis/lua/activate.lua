-- activate: make declared rules the ones in force, and move the frontiers along; see the port.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {actor, changes}; a change is {name, digest, expected_revision, effective_at, event, rule's index in ARGV,
--          frontiers, passed, adds};  ARGV[5...] bodies and rules
-- returns  {news, {{name, job, rule}, ...}}, a job as in common_facts
-- invariant: one open frontier per subject (and worker) of the revision in force; no row runs under two revisions.
-- USES: unit rows keys ledger facts ending series

local function yielded_by(frontiers)
  local ids = {}
  for _, new in ipairs(frontiers) do
    local id = find(new)
    if id then
      ids[id] = true
    end
  end
  return ids
end

-- Add what is not there; and let a worker's rows of an older revision meet the one that others activated.
local function add_missing_frontiers(change_, job, actor)
  local frontiers = change_[C_FRONTIERS]
  if #frontiers == 0 then
    return
  end
  local own, stale, there = {}, false, {}
  for _, new in ipairs(frontiers) do
    if new[N_WORKER] ~= '' then
      own[new[N_WORKER]] = true
    end
  end
  for _, id in ipairs(series_ids(change_[C_NAME])) do
    local head = rows[id].head
    if own[head[WORKER]] and head[REVISION] < job[J_REVISION] then
      stale = true
    end
    if head[FRONTIER] == 1 and head[REVISION] >= job[J_REVISION] then
      there[#head[WORKER] .. ':' .. head[WORKER] .. head[SUBJECT]] = true
    end
  end
  if stale then
    meet(change_[C_NAME], job, yielded_by(frontiers), own, actor)
  end
  for _, new in ipairs(frontiers) do
    if not there[#new[N_WORKER] .. ':' .. new[N_WORKER] .. new[N_SUBJECT]] then
      raise_frontier(new, job)
    end
  end
end

local function rule_of(job)
  if not job or job[J_SEQ] == 0 then
    return ''
  end
  local packed = hget('revision', pad(job[J_SEQ]))
  return packed and cmsgpack.unpack(packed)[2] or ''
end

local function activate(change_, actor)
  local name = change_[C_NAME]
  local found = job_of(name)
  local job = found or { 0, 0, false, 0, false, false, '', '', '', 0 }
  if job[J_REVISION] ~= change_[C_EXPECTED] or not are_frontiers(change_[C_PASSED]) then
    return job
  end
  if found and job[J_DIGEST] == change_[C_DIGEST] then
    leave_behind(job, change_[C_PASSED], change_[C_ADDS], actor, false)
    add_missing_frontiers(change_, job, actor)
    return job
  end
  job = { unpack(job) }
  local before = job[J_EVENT]
  job[J_DIGEST], job[J_REVISION] = change_[C_DIGEST], job[J_REVISION] + 1
  job[J_EFFECTIVE], job[J_EVENT] = change_[C_EFFECTIVE], change_[C_EVENT]
  listen_for(name, before, job[J_EVENT])
  put_job(name, job, ARGV[change_[C_RULE]], actor)
  leave_behind(job, change_[C_PASSED], change_[C_ADDS], actor, true)
  local workers = { [''] = true }
  for _, new in ipairs(change_[C_FRONTIERS]) do
    workers[new[N_WORKER]] = true
  end
  meet(name, job, yielded_by(change_[C_FRONTIERS]), workers, actor)
  for _, new in ipairs(change_[C_FRONTIERS]) do
    raise_frontier(new, job)
  end
  return job
end

local function answer_for(name, job)
  return { name, job, rule_of(job) }
end

begin()
local first = recall()
if first then
  local again = {}
  for index, pair in ipairs(first) do
    again[index] = answer_for(pair[1], pair[2])
  end
  return { 0, again }
end
local actor, changes = unpack(cjson.decode(ARGV[4]))
local names = {}
for index, change_ in ipairs(changes) do
  names[index] = change_[C_NAME]
  cleaned(change_[C_FRONTIERS])
  cleaned(change_[C_ADDS])
end
prefetch('job', names)
local answers, kept = {}, {}
for index, change_ in ipairs(changes) do
  local job = activate(change_, actor)
  answers[index] = answer_for(change_[C_NAME], job)
  kept[index] = { change_[C_NAME], job }
end
remember(kept)
return { commit(), answers }
