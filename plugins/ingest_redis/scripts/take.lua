#!lua flags=allow-oom
-- Gives a consumer its batch: what it has in hand, what a silent consumer left behind, then what is new.
-- Works in a full server too: only taking and settling make room again.
--
-- KEYS  stream
-- ARGV  group, consumer, limit, time after which a consumer counts as silent (ms)
-- Returns entries: id, fields.
local stream = KEYS[1]
local group, consumer, limit, silent = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local entries = {}

local function add(found)
  for _, entry in ipairs(found or {}) do
    entries[#entries + 1] = entry
  end
end

local function read(from)
  local left = limit - #entries
  if left > 0 then
    local found = redis.call(
      'XREADGROUP', 'GROUP', group, consumer, 'COUNT', left, 'STREAMS', stream, from
    )
    add(found and found[1][2])
  end
end

if redis.call('EXISTS', stream) == 0 then
  return entries
end
if #redis.call('XINFO', 'GROUPS', stream) == 0 then
  redis.call('XGROUP', 'CREATE', stream, group, '0')
end
read('0')
if #entries < limit then
  add(redis.call('XAUTOCLAIM', stream, group, consumer, silent, '0-0', 'COUNT', limit - #entries)[2])
end
read('>')
return entries
