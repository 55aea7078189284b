-- common_facts: jobs, facts and their versions, slots, and who waits for what.
--
-- One kind of versioned fact stands for flags, successes and pauses; claims, slots and workers are read under fact names,
-- too.  Whoever parks on versions that moved meanwhile is due at once; whoever parked before is woken by the next take.

-- --- jobs -----------------------------------------------------------------------------------------------------

-- A job is {revision, effective_at, paused, pause_version, paused_at, resumed_at, pause_reason, event, digest, seq};
-- its rule stands in `revision` under seq.
local jobs = {}

local function job_of(name)
  local job = jobs[name]
  if job == nil then
    local packed = hget('job', name)
    job = packed and cmsgpack.unpack(packed)
    jobs[name] = job
  end
  return job
end

local function keep_job(name, job)
  jobs[name] = job
  hset('job', name, cmsgpack.pack(job))
end

-- --- facts ----------------------------------------------------------------------------------------------------

-- A fact is {version, value as JSON or false, set_at, actor}.
local stored_facts = {}

local function fact_of(name)
  local fact = stored_facts[name]
  if fact == nil then
    local packed = hget('fact', name)
    fact = packed and cmsgpack.unpack(packed)
    stored_facts[name] = fact
  end
  return fact
end

local function version_of(name)
  local kind, rest = string.match(name, '^(%a+):(.*)$')
  if kind == 'pause' then
    local job = job_of(rest)
    return job and job[J_PAUSE_VERSION] or 0
  elseif kind == 'key' then
    local holder = holder_of(rest)
    return holder and holder.head[GENERATION] + 1 or 0
  elseif kind == 'slot' then
    return hget('slot', name) and 1 or 0
  elseif kind == 'worker' then
    return hget('worker', rest) and 1 or 0
  end
  local fact = fact_of(name)
  return fact and fact[1] or 0
end

local waiting_here = {}

local function wake(name)
  if waiting_here[name] or call('EXISTS', PREFIX .. 'wait:' .. name) == 1 then
    sadds.wake = sadds.wake or {}
    sadds.wake[#sadds.wake + 1] = name
    due(0, '')
  end
end

-- Set or clear a fact and return its version; the value it has already changes nothing.
local function write_fact(name, value, actor)
  local fact = fact_of(name)
  if not fact then
    if not value then
      return 0
    end
    fact = { 0, false, 0, '' }
  elseif fact[2] == value then
    return fact[1]
  end
  fact = { fact[1] + 1, value, now, actor }
  stored_facts[name] = fact
  hset('fact', name, cmsgpack.pack(fact))
  wake(name)
  return fact[1]
end

-- seen is a list of {name, version}; returns the names whose version is another one now.
local function moved(seen)
  local names = {}
  for _, pair in ipairs(seen) do
    if version_of(pair[1]) ~= pair[2] then
      names[#names + 1] = pair[1]
    end
  end
  return names
end

-- Who waits stands under the version it saw; for an overlap slot, whose version tells nobody anything, under its place in
-- the queue (core.lifecycle.waits_under): who leaves a slot finds the oldest first, however many wait.
local function wait_for(row, seen)
  local names = {}
  for index, pair in ipairs(seen) do
    names[index] = pair[1]
    local is_queue = string.sub(pair[1], 1, 5) == 'slot:'
    zadd('wait:' .. pair[1], is_queue and row.head[SCHEDULED] or pair[2], row.plain)
    waiting_here[pair[1]] = true
  end
  change(row)[WAITS] = #names > 0 and names or false
end

-- --- overlap slots ---------------------------------------------------------------------------------------------

local function occupant(slot)
  local text = hget('slot', slot)
  return text and tonumber(string.match(text, '^(%d+) ')) or nil
end

-- The overlap slot that the row occupies; an older version may have left it more than one.
local function slot_of(row)
  for _, slot in ipairs(row.head[SLOT] or {}) do
    if occupant(slot) == row.id then
      return slot
    end
  end
  return nil
end

-- The caller has seen that the row occupies no other one; whatever it has is free when it ends.
local function occupy(slot, row)
  if not occupant(slot) then
    hset('slot', slot, int(row.id) .. ' ' .. int(now))
    local held = change(row)[SLOT] or {}
    held[#held + 1] = slot
    row.head[SLOT] = held
  end
end

local freed_slots = {}

local function leave_slots(row)
  for _, slot in ipairs(row.head[SLOT] or {}) do
    if occupant(slot) == row.id then
      hset('slot', slot, false)
      freed_slots[slot] = true
    end
  end
  change(row)[SLOT] = false
end
