-- acquire: owner id, lease value (owner|token), ttl ms, shards... Returns the shards gained.
-- A gained shard first gets back what any owner had taken and not finished, in order, at the head of its queue.
if not epoch_is_current() then return redis.error_reply('EPOCH') end
local owner, lease, ttl = ARGV[3], ARGV[4], ARGV[5]
local gained = {}
for i = 6, #ARGV do
  local shard = ARGV[i]
  local key = base .. 'deliver:lease:' .. shard
  local holder = redis.call('GET', key)
  if not holder or string.sub(holder, 1, #owner + 1) == owner .. '|' then
    redis.call('SET', key, lease, 'PX', ttl)
    local owners = base .. 'deliver:owners:' .. shard
    for _, other in ipairs(redis.call('SMEMBERS', owners)) do
      local processing = base .. 'deliver:processing:' .. shard .. ':' .. other
      while true do
        local job = redis.call('RPOP', processing)
        if not job then break end
        redis.call('LPUSH', base .. 'deliver:queue:' .. shard, job)
      end
    end
    redis.call('DEL', owners)
    redis.call('SADD', owners, owner)
    gained[#gained + 1] = shard
  end
end
return gained
