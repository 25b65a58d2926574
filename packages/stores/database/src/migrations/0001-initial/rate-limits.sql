-- Counts of requests if there is no Redis (packages/http/rate-limits). The key of a request to the API begins with the
-- app's ID; `expire` is the end of its window in epoch ms. Unlogged: a count has no value after a crash. Half-empty
-- pages let a count change in place.

create unlogged table rate_limits (
  key text collate "C" primary key,
  points integer not null,
  expire bigint
) with (fillfactor = 50);
