-- rows: read occurrences by id, those that match.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {ids, job, subject, key, identity, {state: true}, open, frontier, from, until, at most};
--          null = not asked for
-- returns  {{id, body, result, error, head}, ...} in the order of the ids
-- invariant: writes nothing; at most as many rows are read as ids are named.
-- USES: unit rows

local ids, job, subject, key, identity, states, open, frontier, from, till, at_most = unpack(cjson.decode(ARGV[4]))

local function matches(row)
  local head = row.head
  if (job ~= null and head[JOB] ~= job) or (subject ~= null and head[SUBJECT] ~= subject)
      or (key ~= null and head[KEY] ~= key) or (states ~= null and not states[head[STATE]])
      or (open and not head[DUE]) or (frontier and head[FRONTIER] ~= 1)
      or (till ~= null and head[SCHEDULED] >= till) then
    return false
  end
  if identity == null and (from == null or head[SCHEDULED] >= from) then
    return true
  end
  local body = cjson.decode(body_of(row))
  local reaches = body[7] ~= null and math.max(body[7], head[SCHEDULED]) or head[SCHEDULED]
  return (identity == null or body[1] == identity) and (from == null or reaches >= from)
end

load_many(ids)
local found = {}
for _, id in ipairs(ids) do
  local row = rows[id]
  if row and matches(row) then
    found[#found + 1] = row
    if #found >= at_most then
      break
    end
  end
end
local fields = {}
for index, row in ipairs(found) do
  fields[index] = row.plain
end
prefetch('body', fields)
local answers = {}
for index, row in ipairs(found) do
  local result, error = said(row)
  row.head[SLOT] = nil  -- a reply ends at the first nil: what only scripts need is not sent
  answers[index] = { row.id, hget('body', row.plain), result, error, row.head }
end
return answers
