-- read-apply: conversation, user, position, mark, count. RETRY when the world moved since the caller asked SQL, EPOCH when it is another one.
local cid, user, at, mark, count = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
if not epoch_is_current() then return 'EPOCH' end
if (position(user, cid) or '') ~= at then return 'RETRY' end
local marks = dialog('readmark', user)
local present = redis.call('HGET', marks, cid) or '0'
if at == '' then
  -- The rebuild compares this mark and will not set an older state over it.
  if above(mark, present) then redis.call('HSET', marks, cid, mark) end
  return 'DONE'
end
if above(present, mark) then return 'RETRY' end
redis.call('HSET', marks, cid, mark)
redis.call('HSET', dialog('unreadcnt', user), cid, count)
touch(user, cid, redis.call('HEXISTS', dialog('gone', user), cid) == 1)
return 'DONE'
