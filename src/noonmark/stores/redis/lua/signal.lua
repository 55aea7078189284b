-- signal: set or clear facts and wake what waits for them; see the port.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON list of {name, value as JSON or null, actor}
-- returns  {news, {version, ...}}
-- invariant: a version grows with every change of the value, and with nothing else.
-- USES: unit rows keys ledger facts ending

begin()
local first = recall()
if first then
  return { 0, first }
end
local versions = {}
for index, fact in ipairs(cjson.decode(ARGV[4])) do
  versions[index] = write_fact(fact[1], known(fact[2]), fact[3])
end
remember(versions)
return { commit(), versions }
