-- common_chain: the links with which a writer proves that the store still holds what it acknowledged.
--
-- A writer is {worker, seq, hash, at, epoch, blind, proved_at, proved_for}; its newest links stand in `link:WRITER`, a ring.
-- A link is {writer, seq, before, hash, serving}.

local LINKS_KEPT, RING_MS = 1024, 7 * 86400000
local grown = {}  -- writers whose ring this script has written to

-- Which server this is, '' where it may not be asked.
local function identity()
  local told = redis.pcall('INFO', 'server')
  local run = type(told) == 'string' and string.match(told, 'run_id:(%w+)')
  return run and 'redis ' .. run or ''
end

local function writer_of(name)
  local packed = hget('writer', name)
  return packed and cmsgpack.unpack(packed)
end

-- Does the link follow the head of its writer, and was it made for this server?
local function follows(link)
  local head = writer_of(link[1])
  return head and (head[3] == link[3] or head[3] == link[4]) and (link[5] == '' or link[5] == identity())
end

-- Make the link the head; one that is the head already was appended by a request since forgotten.
local function append(link)
  local head = writer_of(link[1])
  if head[3] ~= link[3] then
    return
  end
  head[2], head[3], head[4] = link[2], link[4], now
  hset('writer', link[1], cmsgpack.pack(head))
  hset('link:' .. link[1], int(link[2] % LINKS_KEPT), int(link[2]) .. ' ' .. link[4])
  grown[#grown + 1] = link[1]
end

-- Called after the flush: the ring of a writer that is not heard of for a week goes, its head stays.
local function keep_rings()
  for _, name in ipairs(grown) do
    call('PEXPIRE', PREFIX .. 'link:' .. name, RING_MS)
  end
end
