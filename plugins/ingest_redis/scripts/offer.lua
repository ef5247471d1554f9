#!lua
-- Claims, enqueues and counts events, and counts rejected ones: all of it or, past the deadline, nothing.
--
-- KEYS  stream, sequence, then the claim of each event ("" for one without)
-- ARGV  deadline (ms), bound of the stream, window of a claim (us), lifetime of a claim (ms), prefix and
--       lifetime (s) of a ledger hash, number of rejections;
--       for each rejection: hash, lane, reason, events; a duplicate that is not offered has no reason;
--       for each event: hash, lane, received (us), meta, body
-- Returns the server's time (ms), 1 when something was decided, then for each event
--         0 duplicate, 1 queued, 2 no room.
local stream, sequence = KEYS[1], KEYS[2]
local deadline, bound, window = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local lifetime, ledger, kept, rejections = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local at = 8

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now > deadline then
  return {now, 0}
end

local counts = {}
local function count(hash, field, events)
  counts[hash] = counts[hash] or {}
  counts[hash][field] = (counts[hash][field] or 0) + events
end

for _ = 1, rejections do
  local hash, lane, reason, events = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  count(hash, lane .. ':received', events)
  count(hash, lane .. (reason == '' and ':duplicate' or ':rejected:' .. reason), events)
  at = at + 4
end

-- A sequence that starts (again) starts above any that was ever counted from one, also in another queue.
if redis.call('EXISTS', sequence) == 0 then
  redis.call('SET', sequence, string.format('%.0f', time[1] * 1000000 + time[2]))
end

local answer = {now, 1}
local room = bound - redis.call('XLEN', stream)
for i = 3, #KEYS do
  local claim, hash, lane, received = KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local seen = claim ~= '' and redis.call('GET', claim)
  -- A claim without a key is negative, and gives way to one with a key.
  local keyless = string.sub(lane, -6) == ':batch'
  local gives_way = seen and tonumber(seen) < 0 and not keyless
  if seen and not gives_way and tonumber(received) - math.abs(tonumber(seen)) <= window then
    count(hash, lane .. ':received', 1)
    count(hash, lane .. ':duplicate', 1)
    answer[i] = 0
  elseif room <= 0 then
    answer[i] = 2
  else
    if claim ~= '' then
      redis.call('SET', claim, keyless and '-' .. received or received, 'PX', lifetime)
    end
    local id = string.format('%.0f-0', redis.call('INCR', sequence))
    redis.call('XADD', stream, id, 'hash', hash, 'lane', lane, 'meta', ARGV[at + 3], 'body', ARGV[at + 4])
    count(hash, lane .. ':received', 1)
    count(hash, lane .. ':waiting', 1)
    room = room - 1
    answer[i] = 1
  end
  at = at + 5
end

for hash, fields in pairs(counts) do
  for field, events in pairs(fields) do
    redis.call('HINCRBY', ledger .. hash, field, events)
  end
  redis.call('EXPIRE', ledger .. hash, kept)
end
return answer
