#!lua flags=allow-oom
-- Replaces waiting events; each goes to the end of the stream and keeps its ingest sequence. One that is gone stays gone.
--
-- KEYS  stream, sequence, moved (sequence -> id of an event that was put back or rewritten), times of receipt of these
-- ARGV  group, for each event: id, received (us), meta, body
-- Returns how many.
local stream, sequence, moved, moved_received = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local replaced = 0
for at = 2, #ARGV, 4 do
  local former = ARGV[at]
  local entry = redis.call('XRANGE', stream, former, former)[1]
  if entry then
    local fields = entry[2]
    local own = fields[10] or string.match(former, '^[0-9]+')
    local id = string.format('%.0f-0', redis.call('INCR', sequence))
    redis.call(
      'XADD', stream, id, 'hash', fields[2], 'lane', fields[4], 'meta', ARGV[at + 2], 'body', ARGV[at + 3],
      'sequence', own
    )
    redis.call('HSET', moved, own, id)
    redis.call('ZADD', moved_received, ARGV[at + 1], own)
    redis.call('XACK', stream, ARGV[1], former)
    redis.call('XDEL', stream, former)
    replaced = replaced + 1
  end
end
return replaced
