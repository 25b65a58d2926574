-- Apps that move between the databases of cells, or have moved. `cell` is the other cell: where the app goes, comes from,
-- or went. The rows of an app that has left stay here, read-only, until the move is confirmed.
create table app_moves (
  app_id integer primary key,
  cell integer not null,
  state text not null check (state in ('copying', 'suspended', 'left', 'arriving', 'here')),
  was_paused boolean not null default false,
  -- A suspension whose command has died ends by itself.
  suspended_until timestamptz,
  confirmed_at timestamptz
);

-- Guards the rows of an app that is suspended, has left, or has not arrived. The triggers that call it exist for this
-- app only. A worker passes over the rows, because its maintenance works on many apps with one statement.
create function refuse_moving_app() returns trigger language plpgsql as $$
declare
  moving integer := case when tg_op = 'DELETE' then old.app_id else new.app_id end;
  process text := current_setting('sluice.process', true);
  found app_moves;
  is_refused boolean;
begin
  if process is distinct from 'move' then
    -- The lock keeps the end of the move from passing between this look and the end of the transaction.
    select * into found from app_moves where app_id = moving for share;
    is_refused := found.state in ('left', 'arriving')
      or (found.state = 'suspended' and found.suspended_until > clock_timestamp());
    if is_refused and process = 'worker' then return null; end if;
    if is_refused and found.state = 'left' then
      raise exception 'app % is in cell %: use the database of that cell', moving, found.cell using errcode = 'SL001';
    end if;
    if is_refused then
      raise exception 'app % moves to another cell: try again in some seconds', moving using errcode = 'SL001';
    end if;
  end if;
  if tg_op = 'DELETE' then return old; end if;
  return new;
end $$;

-- Lets the first copy of a moved app pause, for as long as its trigger exists.
create function pause_copy() returns trigger language plpgsql as $$
begin
  perform pg_sleep(0.06);
  return new;
end $$;
