#!lua
-- Puts events that were set aside back in the stream; each keeps its ingest sequence.
--
-- KEYS  stream, sequence, moved (sequence -> id of an event that was put back), times of receipt of these, quarantine
-- ARGV  prefix of a ledger hash, how many at most
-- Returns how many.
local stream, sequence, moved, moved_received, quarantine = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local ledger = ARGV[1]
local entries = redis.call('XRANGE', quarantine, '-', '+', 'COUNT', ARGV[2])
for _, entry in ipairs(entries) do
  local fields = entry[2]
  local hash, lane, own = fields[2], fields[4], fields[10]
  local id = string.format('%.0f-0', redis.call('INCR', sequence))
  redis.call(
    'XADD', stream, id, 'hash', hash, 'lane', lane, 'meta', fields[6], 'body', fields[8], 'sequence', own
  )
  redis.call('HSET', moved, own, id)
  redis.call('ZADD', moved_received, string.format('%.0f', cjson.decode(fields[6])[3]), own)
  redis.call('XDEL', quarantine, entry[1])
  redis.call('HINCRBY', ledger .. hash, lane .. ':quarantined', -1)
  redis.call('HINCRBY', ledger .. hash, lane .. ':waiting', 1)
end
return #entries
