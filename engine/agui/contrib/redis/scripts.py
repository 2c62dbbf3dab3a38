"""Atomic steps for Redis, in Lua. A Redis Cluster can't do them: it keeps keys apart.

    agui:lock:<thread>      the entry of the active run: "<run> <fingerprint> <process>"; expires
                            after seconds, unless it is renewed
    agui:last:<thread>      the entry of the thread's last run
    agui:log:<run>          the frames, a stream: entry n-0 is frame n, and n-1 the end, or the cut
    agui:runs:<owner>       the runs of one user, each with the moment until which it counts
    agui:stop:<run>         a request to the run's process: 'stop', 'forget', or 'replace', which
                            means: stop if nobody reads it
    agui:read:<run>         exists while the run has readers in other processes
    agui:inbox:<process>    wakes a process, which then looks for requests to its runs, and has the
                            events that other processes tell them

Threads and scopes are digests that depend on the SECRET_KEY. A scope may hold the key of a session,
which is as secret as a password, and two projects may share a Redis.
"""

# How long a process may be silent before its threads count as free.
LOCK_MS = 5_000
# When the log of a run expires, unless it is renewed.
RUNNING_MS = 3_600_000

_COMMON = """
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function run_of(entry) return string.match(entry, '^%S+') end
local function is_of(value, entry) return value and run_of(value) == run_of(entry) end
local function is_open(entry)
  local newest = redis.call('XREVRANGE', 'agui:log:' .. run_of(entry), '+', '-', 'COUNT', 1)[1]
  return newest and newest[2][1] == 'frame'
end
local function ask(entry, what, ms)
  redis.call('SET', 'agui:stop:' .. run_of(entry), what, 'PX', ms or 600000)
  local inbox = 'agui:inbox:' .. string.match(entry, '%S+$')
  redis.call('XADD', inbox, 'MAXLEN', '~', 100, '*', 'run', run_of(entry))
  redis.call('PEXPIRE', inbox, 600000)
end
"""

# Takes a thread for a run. Answers 'held' if another run has the thread, 'open' if only the log of
# the last run says so, 'kept' for an equal request, and 'many' if the user has too many runs.
RESERVE = (
    _COMMON
    + """
local lock, last, runs = unpack(KEYS)
local entry, fingerprint, replaced, lock_ms, running_ms, most = unpack(ARGV)
local held = redis.call('GET', lock)
if held and held ~= entry and held ~= replaced then return {'held', held} end
local kept = redis.call('GET', last)
local is_other = kept and kept ~= entry and kept ~= replaced
if is_other and redis.call('EXISTS', 'agui:log:' .. run_of(kept)) == 1 then
  if string.match(kept, ' (%S+) ') == fingerprint then return {'kept', kept} end
  if is_open(kept) then return {'open', kept} end
end
redis.call('ZREM', runs, run_of(entry))
redis.call('ZREMRANGEBYSCORE', runs, '-inf', now())
if redis.call('ZCARD', runs) >= tonumber(most) then return {'many', ''} end
redis.call('SET', lock, entry, 'PX', lock_ms)
redis.call('SET', last, entry, 'PX', running_ms)
redis.call('ZADD', runs, now() + lock_ms, run_of(entry))
redis.call('PEXPIRE', runs, running_ms)
return {'new', entry}
"""
)

# Adds frames to a log, if they are the next ones, and answers how many it has then. Renews what the
# run holds, or frees it at the end. Also answers 'gap' if other frames must come first, 'closed' if
# the log has ended, 'lost' if another process goes on with the run, or the request to the run's
# process. Writes nothing if the thread was deleted.
PUSH = (
    _COMMON
    + """
local log, lock, last, runs, asked = unpack(KEYS)
local entry, first = ARGV[1], tonumber(ARGV[2])
local is_end, is_forgotten = ARGV[3] ~= '0', ARGV[4] == '1'
local lock_ms, log_ms = ARGV[5], ARGV[6]
local held, newer = redis.call('GET', lock), redis.call('GET', last)
for _, owner in ipairs({held, newer}) do
  if owner and owner ~= entry and is_of(owner, entry) and ARGV[3] ~= '2' then return {0, 'lost'} end
end
local newest = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
local have = newest and tonumber(string.match(newest[1], '^%d+')) or 0
local state = is_forgotten and 'forget' or redis.call('GET', asked) or ''
if state == 'forget' then
  redis.call('DEL', log)
elseif newest and newest[2][1] ~= 'frame' then
  state = 'closed'
elseif have + 1 ~= first then
  return {have, 'gap'}
else
  for i = 7, #ARGV do
    have = have + 1
    redis.call('XADD', log, have .. '-0', 'frame', ARGV[i])
  end
  if is_end then redis.call('XADD', log, have .. '-1', ARGV[3] == '2' and 'cut' or 'end', '') end
  redis.call('PEXPIRE', log, log_ms)
  if not newer or is_of(newer, entry) then redis.call('SET', last, entry, 'PX', log_ms) end
end
if is_end then
  if is_of(held, entry) then redis.call('DEL', lock) end
  redis.call('ZREM', runs, run_of(entry))
else
  if not held or is_of(held, entry) then redis.call('SET', lock, entry, 'PX', lock_ms) end
  redis.call('ZADD', runs, now() + lock_ms, run_of(entry))
  redis.call('PEXPIRE', runs, log_ms)
end
return {have, state}
"""
)

# Frees a thread whose run was refused. Keeps the reason for clients that have sent an equal request
# to other processes.
RELEASE = (
    _COMMON
    + """
local log, lock, last, runs = unpack(KEYS)
local entry, reason, log_ms = unpack(ARGV)
for _, key in ipairs({lock, last}) do
  if is_of(redis.call('GET', key), entry) then redis.call('DEL', key) end
end
redis.call('ZREM', runs, run_of(entry))
if redis.call('EXISTS', log) == 0 then
  redis.call('XADD', log, '0-1', 'refused', reason)
  redis.call('PEXPIRE', log, log_ms)
end
return 1
"""
)

# Finds the active run: the holder of the thread, or the last run if its log has no end.
ACTIVE = (
    _COMMON
    + """
local entry = redis.call('GET', KEYS[1])
if entry then return entry end
local last = redis.call('GET', KEYS[2])
if last and is_open(last) then return last end
return ''
"""
)

# Asks the active run to stop, if it is the named one, or none is named.
STOP = (
    _COMMON
    + """
local lock, last = unpack(KEYS)
local entry = redis.call('GET', lock)
if not entry then
  entry = redis.call('GET', last)
  if not entry or not is_open(entry) then return 0 end
end
if ARGV[1] ~= '' and ARGV[1] ~= run_of(entry) then return 0 end
ask(entry, 'stop')
return 1
"""
)

# Tells the process of the active run the JSON of an event.
TELL = (
    _COMMON
    + """
local lock, last = unpack(KEYS)
local entry = redis.call('GET', lock)
if not entry then
  entry = redis.call('GET', last)
  if not entry or not is_open(entry) then return 0 end
end
local inbox = 'agui:inbox:' .. string.match(entry, '%S+$')
redis.call('XADD', inbox, 'MAXLEN', '~', 100, '*', 'run', run_of(entry), 'event', ARGV[1])
redis.call('PEXPIRE', inbox, 600000)
return 1
"""
)

# Asks the active run to stop if its own process has no readers. Answers 0 if there is no active
# run, or other processes have readers.
REPLACE = (
    _COMMON
    + """
local entry = redis.call('GET', KEYS[1])
if not entry or redis.call('EXISTS', 'agui:read:' .. run_of(entry)) == 1 then return 0 end
if redis.call('EXISTS', 'agui:stop:' .. run_of(entry)) == 0 then ask(entry, 'replace', ARGV[1]) end
return entry
"""
)

# Deletes the logs of a thread, and asks its run to stop without a trace.
FORGET = (
    _COMMON
    + """
for _, key in ipairs(KEYS) do
  local entry = redis.call('GET', key)
  if entry then
    ask(entry, 'forget')
    redis.call('DEL', 'agui:log:' .. run_of(entry))
  end
end
redis.call('DEL', KEYS[2])
return 1
"""
)

# Finds the run of a thread that clients can follow: the active one, or the last one with a log.
FIND = (
    _COMMON
    + """
local held = redis.call('GET', KEYS[1])
if held then return held end
local last = redis.call('GET', KEYS[2])
if last and redis.call('EXISTS', 'agui:log:' .. run_of(last)) == 1 then return last end
return ''
"""
)
