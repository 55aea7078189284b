-- note_if_held: write a remark of a run, if the fence is still the row's and it runs.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {worker, id, fence, kind, name};  ARGV[5] the value
-- returns  {news, 1 or 0}
-- invariant: of a step, an intent and a done the first write wins; progress is overwritten.
-- USES: unit rows keys ledger facts ending

begin()
local worker, id, fence, kind, name = unpack(cjson.decode(ARGV[4]))
local row = load(id)
local head = row and row.head
if not (head and head[FENCE] == fence and head[HOLDER] == worker and head[STATE] == 'RUNNING' and head[LOOKING] == 0) then
  count('stale_refused', 1)
  return { commit(), 0 }
end
local notes, field = 'note:' .. int(id), string.format('%d:', #kind) .. kind .. name
local kept = hget(notes, field)
if kind == 'progress' or not kept then
  local place_ = kept and cmsgpack.unpack(kept)[1] or call('HLEN', PREFIX .. notes) + 1
  hset(notes, field, cmsgpack.pack({ place_, kind, name, ARGV[5], fence, now }))
end
return { commit(), 1 }
