-- epoch: run id of the server, a fresh random id. Adopts the epoch of this server, or starts one.
-- A restarted server may have lost its newest second, an emptied one everything: both begin a new epoch.
local key = ARGV[1] .. 'im:epoch'
local value = redis.call('GET', key)
if value and string.sub(value, -#ARGV[2] - 1) == '|' .. ARGV[2] then return value end
local fresh = ARGV[3] .. '|' .. ARGV[2]
redis.call('SET', key, fresh)
return fresh
