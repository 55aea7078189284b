-- story: everything about one occurrence.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {id}
-- returns  {} or {row, attempts, ledger lines, notes, alerts}; an attempt is {fence, number, worker, started_at, ended_at,
--          outcome, error}, a line as in common_ledger, a note {place, kind, name, value, fence, at}, an alert {id, ...}
-- invariant: writes nothing.
-- USES: unit rows ledger

local id = cjson.decode(ARGV[4])[1]
local row = load(id)
if not row then
  return {}
end
local head = row.head
local result, error = said(row)
local tries = attempts_of(id)
if head[RUN_FENCE] ~= 0 then
  local done = head[STATE] == 'SUCCESS'
  tries[#tries + 1] = { head[RUN_FENCE], head[ATTEMPT], head[RUN_WORKER], head[STARTED], done and head[ENDED],
    done and 'success' or 'running', done and error or false }
end
local lines = {}
for index, packed in ipairs(call('LRANGE', PREFIX .. log_key(id), 0, -1)) do
  lines[index] = cmsgpack.unpack(packed)
end
local notes = {}
for index, packed in ipairs(call('HVALS', PREFIX .. 'note:' .. int(id))) do
  notes[index] = cmsgpack.unpack(packed)
end
table.sort(notes, function(a, b) return a[1] < b[1] end)
local alerts_here = {}
for index, number in ipairs(alert_ids_of(id)) do
  alerts_here[index] = { number, unpack(load_alert(number)) }
end
return { { id, body_of(row), result, error, head }, tries, lines, notes, alerts_here }
