-- tallies: counts from one consistent read; ranges of the due index and counters, no row but those of single workers.
-- KEYS     {prefix}meta {prefix}moving
-- returns  {now, {name, count, ...}, due now, delayed, waiting, earliest due or nil, open alerts as {id, ...}}
-- invariant: writes nothing.
-- USES: unit rows ledger

local OWN_COUNTED = 10000  -- rows of single workers looked at, the earliest of each worker first

read_clock()
local after = '(' .. int(now)
local due_now, delayed, waiting = 0, 0, 0
local earliest_due = earliest_common()
for _, name in ipairs({ 'due:new', 'due:parked', 'due:held' }) do
  due_now = due_now + call('ZCOUNT', PREFIX .. name, '-inf', int(now))
end
delayed = call('ZCOUNT', PREFIX .. 'due:new', after, '+inf')
waiting = call('ZCOUNT', PREFIX .. 'due:parked', after, '+inf')
local own = {}
for index, member in ipairs(call('ZRANGE', PREFIX .. 'own', 0, OWN_COUNTED - 1)) do
  own[index] = tonumber(string.sub(member, -12))
end
load_many(own)
for _, id in ipairs(own) do
  local head = rows[id].head
  earliest_due = math.min(earliest_due, head[DUE])
  if head[DUE] <= now then
    due_now = due_now + 1
  elseif head[STATE] == 'PENDING' then
    if head[FENCE] == 0 then
      delayed = delayed + 1
    elseif head[HOLDER] == '' then
      waiting = waiting + 1
    end
  end
end
local ids = {}
for index, id in ipairs(call('HVALS', PREFIX .. 'alert:open')) do
  ids[index] = tonumber(id)
end
table.sort(ids)
local alerts_open = {}
for index, id in ipairs(ids) do
  alerts_open[index] = { id, unpack(load_alert(id)) }
end
return { now, call('HGETALL', PREFIX .. 'count'), due_now, delayed, waiting,
  earliest_due < NO_MOMENT and earliest_due or false, alerts_open }
