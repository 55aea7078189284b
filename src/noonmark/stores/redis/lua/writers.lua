-- writers: read every writer.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {}
-- returns  {{id, worker, seq, hash, at, epoch, blind, proved_at, proved_for}, ...}
-- invariant: writes nothing.
-- USES: unit

local answers = {}
local entries = call('HGETALL', PREFIX .. 'writer')
for index = 1, #entries, 2 do
  answers[#answers + 1] = { entries[index], unpack(cmsgpack.unpack(entries[index + 1])) }
end
return answers
