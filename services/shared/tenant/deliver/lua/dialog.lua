-- Lists of one tenant. ARGV[3] = prefix of its keys; the arguments of a script follow. @see INB-01 .. INB-06
local prefix = ARGV[3]
local function dialog(name, id) return prefix .. 'im:dialog:' .. name .. ':' .. id end

local now = redis.call('TIME')
-- 4,096 scores a millisecond since 2024: unique and rising per user even for one list changed often.
local clock = (now[1] * 1000 + math.floor(now[2] / 1000) - 1704067200000) * 4096

-- Gives the entry a fresh score, in the list where it belongs. Do-not-disturb goes to the read list, whatever the count (INB-07).
local function touch(user, cid, gone)
  local score = math.max((tonumber(redis.call('GET', dialog('score', user))) or 0) + 1, clock)
  local text = string.format('%.0f', score)
  redis.call('SET', dialog('score', user), text)
  if gone then redis.call('HSET', dialog('gone', user), cid, '1') else redis.call('HDEL', dialog('gone', user), cid) end
  local unread = tonumber(redis.call('HGET', dialog('unreadcnt', user), cid)) or 0
  local is_muted = redis.call('SISMEMBER', dialog('muted', user), cid) == 1
  local to, from = 'read', 'unread'
  if unread > 0 and not is_muted and not gone then to, from = 'unread', 'read' end
  redis.call('ZREM', dialog(from, user), cid)
  redis.call('ZADD', dialog(to, user), text, cid)
end

local function presence_of(user) return redis.call('HGETALL', prefix .. 'im:presence:' .. user) end

local function marks_key(cid) return prefix .. 'im:deliver:' .. cid end

-- POS of the model: the change up to which this user's counter is right, or false on a broken chain.
-- Fields: e epoch, l last, h handed, r resync, pc/pu progress (change, user), bh/bu rebuild (head, user).
local function position(user, cid)
  local m = redis.call('HMGET', marks_key(cid), 'e', 'l', 'pc', 'pu', 'bh', 'bu')
  if m[1] ~= epoch then return false end
  if m[5] then
    if above(user, m[6]) then return false end
    return m[5]
  end
  if not m[2] then return false end
  if m[3] and not above(user, m[4]) then return m[3] end
  return m[2]
end
