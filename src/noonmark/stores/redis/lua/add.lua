-- add: insert occurrences; see the port.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON list of new rows (N_*);  ARGV[5...] their bodies
-- returns  {news, {{outcome, id, duplicate_of}, ...}}
-- invariant: an identity is inserted once; a key is claimed by at most one open row.
-- USES: unit rows keys ledger facts ending

begin()
local first = recall()
if first then
  return { 0, first }
end
local wanted = cleaned(cjson.decode(ARGV[4]))
local identities, keys = {}, {}
for index, new in ipairs(wanted) do
  identities[index] = ident(new[N_JOB], new[N_SUBJECT], new[N_IDENTITY])
  keys[index] = new[N_KEY]
end
prefetch('ident', identities)
prefetch('key', keys)
local answers = {}
for index, new in ipairs(wanted) do
  local id = find(new)
  if id then
    count('duplicates_refused', 1)
    answers[index] = { 'duplicate_identity', id, id }
  else
    answers[index] = insert(new)
  end
end
remember(answers)
return { commit(), answers }
