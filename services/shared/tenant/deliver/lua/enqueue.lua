-- enqueue: shard, job, shard, job, ... Refused as a whole when Redis is full, so nothing is acknowledged that is not queued.
-- ARGV[2] is not used here.
local owners = {}
for i = 3, #ARGV, 2 do
  redis.call('RPUSH', ARGV[1] .. 'deliver:queue:' .. ARGV[i], ARGV[i + 1])
  local owner = redis.call('GET', ARGV[1] .. 'deliver:lease:' .. ARGV[i])
  if owner then owners[string.match(owner, '^[^|]+')] = true end
end
for owner in pairs(owners) do
  local wake = ARGV[1] .. 'wake:deliver:' .. owner
  redis.call('LPUSH', wake, '1')
  redis.call('LTRIM', wake, 0, 0)
end
return 'OK'
