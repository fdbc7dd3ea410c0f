-- renew: lease value, ttl ms, shards... Returns the shards that are no longer ours.
local lost = {}
for i = 5, #ARGV do
  local key = base .. 'deliver:lease:' .. ARGV[i]
  if epoch_is_current() and redis.call('GET', key) == ARGV[3] then
    redis.call('PEXPIRE', key, ARGV[4])
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
