-- busy: shards... Returns those with jobs in their queue or in the processing list of any owner. ARGV[2] is not used here.
local busy = {}
for i = 3, #ARGV do
  local shard = ARGV[i]
  local jobs = redis.call('LLEN', ARGV[1] .. 'deliver:queue:' .. shard)
  for _, owner in ipairs(redis.call('SMEMBERS', ARGV[1] .. 'deliver:owners:' .. shard)) do
    jobs = jobs + redis.call('LLEN', ARGV[1] .. 'deliver:processing:' .. shard .. ':' .. owner)
  end
  if jobs > 0 then busy[#busy + 1] = shard end
end
return busy
