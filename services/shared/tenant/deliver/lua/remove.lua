-- remove: owner id, lease value, shard, jobs... Takes finished jobs off the processing list; they sit near its head.
local owner, lease, shard = ARGV[3], ARGV[4], ARGV[5]
if not is_owner(shard, lease) then return 'FENCED' end
local key = base .. 'deliver:processing:' .. shard .. ':' .. owner
for i = 6, #ARGV do redis.call('LREM', key, 1, ARGV[i]) end
return 'OK'
