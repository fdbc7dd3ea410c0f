-- handed: shard, lease value, conversation, change, prev. Moves the second mark; `prev` = '' closes the stage after a rebuild.
local shard, lease, cid, change, prev = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
if not is_owner(shard, lease) then return 'FENCED' end
local marks = redis.call('HMGET', marks_key(cid), 'e', 'h', 'r')
if marks[1] ~= epoch then return 'CHAIN' end
if prev == '' then
  if marks[3] ~= change then return 'CHAIN' end
elseif marks[2] ~= prev then
  return 'CHAIN'
end
redis.call('HSET', marks_key(cid), 'h', change)
return 'OK'
