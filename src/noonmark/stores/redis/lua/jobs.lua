-- jobs: read jobs by name.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON list of names
-- returns  {{name, job, rule}, ...}, a job as in common_facts; names that nobody knows are left out
-- invariant: writes nothing.
-- USES: unit rows keys facts

local names = cjson.decode(ARGV[4])
prefetch('job', names)
local answers = {}
for _, name in ipairs(names) do
  local job = job_of(name)
  if job then
    local packed = job[J_SEQ] ~= 0 and call('HGET', PREFIX .. 'revision', pad(job[J_SEQ]))
    answers[#answers + 1] = { name, job, packed and cmsgpack.unpack(packed)[2] or '' }
  end
end
return answers
