-- effect (FANOUT of the model): shard, lease value, conversation, change, prev, final, preview, then user, op, ref for each user, ascending.
-- op: '+' count one more for each of ref (ids, divided by commas) above his read mark; '-' one less, likewise; '0' joined; 'g' left;
-- '.' only a fresh score. A run of messages is one change: prev is that of its first, change its last.
-- Exactly once: a user at or below the progress of this change is left alone, and `last` moves only from prev.
-- Returns presence of the users, read after their lists changed; or FENCED, or CHAIN when the marks are not where the caller believes.
local shard, lease, cid, change, prev, final, preview = ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10]
if not is_owner(shard, lease) then return 'FENCED' end
local marks = redis.call('HMGET', marks_key(cid), 'e', 'l', 'pc', 'pu', 'bh')
if marks[1] ~= epoch or marks[2] ~= prev or marks[5] then return 'CHAIN' end
local done = '0'
if marks[3] == change then done = marks[4] end
local present, last = {}, done
for i = 11, #ARGV, 3 do
  local user, op, ref = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if above(user, done) then
    local counts = dialog('unreadcnt', user)
    if op == '+' or op == '-' then
      local mark = redis.call('HGET', dialog('readmark', user), cid) or '0'
      local by = 0
      for one in string.gmatch(ref, '%d+') do
        if above(one, mark) then by = by + 1 end
      end
      if by > 0 then
        local count = redis.call('HINCRBY', counts, cid, op == '+' and by or -by)
        if count < 0 then redis.call('HSET', counts, cid, 0) end
      end
    elseif op == '0' or op == 'g' then
      redis.call('HSET', counts, cid, 0)
    end
    touch(user, cid, op == 'g')
    last = user
  end
  present[#present + 1] = { user, presence_of(user) }
end
if final == '1' then
  redis.call('HSET', marks_key(cid), 'l', change)
  redis.call('HDEL', marks_key(cid), 'pc', 'pu')
  if preview ~= '' then redis.call('SET', prefix .. 'im:dialog:preview:' .. cid, preview) end
else
  redis.call('HSET', marks_key(cid), 'pc', change, 'pu', last)
end
return present
