-- sync: user, score, limit. Entries of both lists above the score, oldest first, in one look; with everything a client shows of them.
-- Returns {conversation, score, unread, muted, pinned, gone, preview, ...} flat, seven each.
local user, after, limit = ARGV[4], ARGV[5], tonumber(ARGV[6])
local entries = {}
for _, name in ipairs({ 'unread', 'read' }) do
  local found = redis.call('ZRANGEBYSCORE', dialog(name, user), '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  for i = 1, #found, 2 do entries[#entries + 1] = { found[i], tonumber(found[i + 1]) } end
end
table.sort(entries, function(a, b) return a[2] < b[2] end)
local out = {}
for i = 1, math.min(limit, #entries) do
  local cid = entries[i][1]
  local gone = redis.call('HGET', dialog('gone', user), cid)
  out[#out + 1] = cid
  out[#out + 1] = string.format('%.0f', entries[i][2])
  out[#out + 1] = redis.call('HGET', dialog('unreadcnt', user), cid) or '0'
  out[#out + 1] = redis.call('SISMEMBER', dialog('muted', user), cid)
  out[#out + 1] = redis.call('ZSCORE', dialog('pinned', user), cid) and 1 or 0
  out[#out + 1] = gone and 1 or 0
  out[#out + 1] = (not gone) and redis.call('GET', prefix .. 'im:dialog:preview:' .. cid) or ''
end
return out
