-- rebuild: shard, lease value, conversation, head, first, final, is_first_change, preview, then user, mark, count, gone, muted each, ascending.
-- Sets lists absolutely from a SQL snapshot at `head`. RETRY when a read mark here is above the snapshot's: somebody read meanwhile.
local shard, lease, cid, head, first, final, is_first_change, preview = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11]
if not is_owner(shard, lease) then return 'FENCED' end
local key = marks_key(cid)
for i = 12, #ARGV, 5 do
  local mark = redis.call('HGET', dialog('readmark', ARGV[i]), cid)
  if mark and above(mark, ARGV[i + 1]) then return 'RETRY' end
end
if first == '1' then
  redis.call('DEL', key)
  redis.call('HSET', key, 'e', epoch, 'bh', head, 'bu', '0')
else
  local at = redis.call('HMGET', key, 'e', 'bh')
  if at[1] ~= epoch or at[2] ~= head then return 'RETRY' end
end
for i = 12, #ARGV, 5 do
  local user = ARGV[i]
  redis.call('HSET', dialog('readmark', user), cid, ARGV[i + 1])
  redis.call('HSET', dialog('unreadcnt', user), cid, ARGV[i + 2])
  if ARGV[i + 4] == '1' then redis.call('SADD', dialog('muted', user), cid) else redis.call('SREM', dialog('muted', user), cid) end
  touch(user, cid, ARGV[i + 3] == '1')
  redis.call('HSET', key, 'bu', user)
end
if final == '1' then
  redis.call('HDEL', key, 'bh', 'bu')
  redis.call('HSET', key, 'e', epoch, 'l', head, 'h', '0', 'r', is_first_change == '1' and '0' or head)
  if preview ~= '' then redis.call('SET', prefix .. 'im:dialog:preview:' .. cid, preview) end
end
return 'OK'
