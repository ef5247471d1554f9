#!lua flags=allow-oom
-- Removes the name of a consumer that stops, and of those that fell silent long ago. One that still has a
-- batch in hand stays: the batch goes to another consumer first.
--
-- KEYS  stream
-- ARGV  group, consumer, silence after which another one goes (ms)
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])
for _, flat in ipairs(consumers.err and {} or consumers) do
  local facts = {}
  for at = 1, #flat, 2 do
    facts[flat[at]] = flat[at + 1]
  end
  local over = facts.name == ARGV[2] or facts.idle > tonumber(ARGV[3])
  if facts.pending == 0 and over then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], facts.name)
  end
end
