-- take: owner id, lease value, jobs at most a shard, shards at most, shards... Moves jobs to our processing lists, first in first out.
-- Returns {shard, job, job, ...} for each shard that had some; {shard, false} for one that is not ours any more.
local owner, lease, limit, wanted = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local taken = {}
for i = 7, #ARGV do
  if #taken >= wanted then break end
  local shard = ARGV[i]
  if not is_owner(shard, lease) then
    taken[#taken + 1] = { shard, false }
  else
    local jobs = redis.call('LPOP', base .. 'deliver:queue:' .. shard, limit)
    if jobs and #jobs > 0 then
      redis.call('RPUSH', base .. 'deliver:processing:' .. shard .. ':' .. owner, unpack(jobs))
      table.insert(jobs, 1, shard)
      taken[#taken + 1] = jobs
    end
  end
end
return taken
