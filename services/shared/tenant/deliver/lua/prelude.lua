-- What every script of delivery begins with. ARGV[1] = base of the global keys, ARGV[2] = epoch id; the arguments of a script follow.
local base, epoch = ARGV[1], ARGV[2]

-- Ids are 64-bit and Lua numbers are not: longer decimal text is greater, equal length compares as text.
local function above(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local function epoch_is_current()
  local value = redis.call('GET', base .. 'im:epoch')
  return value and string.sub(value, 1, #epoch + 1) == epoch .. '|'
end

-- FENCE of the model: this process owns the shard under this token, and the lists are of the epoch it was told.
local function is_owner(shard, owner)
  return epoch_is_current() and redis.call('GET', base .. 'deliver:lease:' .. shard) == owner
end
