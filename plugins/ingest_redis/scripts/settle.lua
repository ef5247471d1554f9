#!lua flags=allow-oom
-- Removes events that are stored, set aside or dropped, and counts them. One that is gone already counts no more.
--
-- KEYS  stream, moved (sequence -> id of an event that was put back or rewritten), times of receipt of these
-- ARGV  group, prefix of a ledger hash, prefix of a quarantine,
--       for each event: sequence, 1 when late, 1 when a bot's, reason it is set aside ("" when stored),
--       parts that could not be used, with commas between, reason it is dropped ("" otherwise)
local stream, moved, moved_received = KEYS[1], KEYS[2], KEYS[3]
local group, ledger, quarantine = ARGV[1], ARGV[2], ARGV[3]

local function find(sequence)
  local id = sequence .. '-0'
  local entry = redis.call('XRANGE', stream, id, id)[1]
  if not entry then
    id = redis.call('HGET', moved, sequence)
    entry = id and redis.call('XRANGE', stream, id, id)[1]
    redis.call('HDEL', moved, sequence)
    redis.call('ZREM', moved_received, sequence)
  end
  return id, entry and entry[2]
end

for at = 4, #ARGV, 6 do
  local sequence, late, bot, reason = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local id, fields = find(sequence)
  if fields then
    local hash, lane = fields[2], fields[4]
    local function count(what, events)
      redis.call('HINCRBY', ledger .. hash, lane .. what, events)
    end
    redis.call('XACK', stream, group, id)
    redis.call('XDEL', stream, id)
    count(':waiting', -1)
    if ARGV[at + 5] ~= '' then
      count(':rejected:' .. ARGV[at + 5], 1)
    elseif reason == '' then
      count(':stored', 1)
      if late == '1' then count(':late', 1) end
      if bot == '1' then count(':bots', 1) end
      for part in string.gmatch(ARGV[at + 4], '[^,]+') do
        count(':ignored:' .. part, 1)
      end
    else
      count(':quarantined', 1)
      redis.call(
        'XADD', quarantine .. string.match(hash, '^[^:]+'), '*', 'hash', hash, 'lane', lane,
        'meta', fields[6], 'body', fields[8], 'sequence', sequence, 'reason', reason
      )
    end
  end
end
