-- now: the store's time.
-- KEYS     {prefix}meta {prefix}moving
-- returns  microseconds, UTC
-- invariant: writes nothing, and never falls behind the latest instant ever written, but for a clock set back for good.
-- USES: unit

read_clock()
return now
