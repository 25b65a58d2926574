-- Times that the clock of Postgres decides. A failover may set it back.

-- A time lies further ahead than any process stores it, so the clock was set back. Another transaction may have begun up to a
-- minute after this one, stored a time from its own now(), and committed first.
create function is_far_ahead(at timestamptz, furthest interval) returns boolean language sql stable
  return at > now() + furthest + interval '1 minute';

-- A time has come, or lies too far ahead. Treating the latter as due bounds the wait, however far the clock was set back.
create function is_due(at timestamptz, furthest interval) returns boolean language sql stable
  return at <= now() or is_far_ahead(at, furthest);
