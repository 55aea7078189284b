-- alerts: read alerts by number, open and closed.
-- KEYS     {prefix}meta {prefix}moving
-- ARGV[4]  JSON {first, last}
-- returns  {{id, ...}, ...}, an alert as in common_ledger
-- invariant: writes nothing.
-- USES: unit rows ledger

local first, last = unpack(cjson.decode(ARGV[4]))
local answers = {}
for id = first, last do
  local alert = load_alert(id)
  if alert then
    answers[#answers + 1] = { id, unpack(alert) }
  end
end
return answers
