-- renew: extend the leases that are still ours; judged afresh each time.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {worker, {{id, fence, lease}, ...}}
-- returns  {news, now, {lost}, {asked to cancel}}
-- invariant: only the holder under the newest fence moves the end of a lease.
-- USES: unit rows keys ledger facts ending

begin()
local worker, leases = unpack(cjson.decode(ARGV[4]))
local ids = {}
for index, lease in ipairs(leases) do
  ids[index] = lease[1]
end
load_many(ids)
local lost, asked = {}, {}
for _, lease in ipairs(leases) do
  local row = rows[lease[1]]
  local head = row and row.head
  if head and head[FENCE] == lease[2] and head[HOLDER] == worker and head[STATE] == 'RUNNING' and head[LOOKING] == 0 then
    change(row)[DUE] = now + lease[3]
    due(head[DUE], head[WORKER])  -- a lease may be shorter than the one before
    if head[CANCEL] == 1 then
      asked[#asked + 1] = row.id
    end
  else
    lost[#lost + 1] = lease[1]
  end
end
return { commit(), now, lost, asked }
