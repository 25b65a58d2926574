import { type Database, sql } from '@sluice/database'
import type { RecordedChange } from '../../labs/model/replay.ts'

/**
 * Makes the database record every change of an import's state, attempt and position. A trigger records it in the
 * transaction that makes the change, so no change is missed. A change that is rolled back leaves no record.
 */
export async function watchImports(db: Database): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** The statement that undoes {@link watchImports}. The trigger goes with its function. */
export const unwatchImports = 'drop schema if exists watch cascade'

/**
 * The record of a claim may show an upload as queued that the claim itself could not see yet. Such an upload was queued
 * less than this time before the claim, or its transaction had not ended at the claim.
 */
const sameMoment = `interval '1 second'`

const recorded = [
  ...['app_id', 'import_id', 'sequence_number', 'dry_run', 'state', 'attempt', 'position', 'holds_order', 'report_due'],
  'check_passed',
].join(', ')

const statements = [
  `create schema watch`,
  `create table watch.changes (
    change bigint generated always as identity primary key,
    operation text not null,
    app_id integer not null,
    import_id uuid not null,
    sequence_number bigint not null,
    dry_run boolean not null,
    state text not null,
    attempt integer not null,
    position bigint not null,
    holds_order boolean not null,
    report_due boolean not null,
    check_passed boolean not null,
    has_bounds boolean not null,
    waited_ms double precision,
    -- Imports of the app that precede this import, and were queued just before its claim.
    unseen bigint[] not null,
    made_at timestamptz not null default clock_timestamp(),
    transaction xid8 not null default pg_current_xact_id(),
    -- The transactions that had ended when the change was made.
    snapshot pg_snapshot not null default pg_current_snapshot()
  )`,
  `create index on watch.changes (transaction)`,
  `create function watch.note() returns trigger language plpgsql as $$
  declare
    changed imports := case when tg_op = 'DELETE' then old else new end;
    is_claim boolean := tg_op = 'UPDATE' and changed.state = 'processing' and old.attempt <> changed.attempt;
  begin
    insert into watch.changes (operation, ${recorded}, has_bounds, waited_ms, unseen)
    select tg_op, ${recorded}, hold_if <> '"never"',
      case when is_claim then extract(epoch from clock_timestamp() - queued_at) * 1000 end,
      case when is_claim then array(
        select e.sequence_number from imports e
        where e.app_id = changed.app_id and e.sequence_number < changed.sequence_number and e.state = 'queued'
          and not e.queued_at <= statement_timestamp() - ${sameMoment}
      ) else '{}' end
    from (select changed.*) one;
    return null;
  end $$`,
  `create trigger watch_rows after insert or delete on imports for each row execute function watch.note()`,
  `create trigger watch after update on imports for each row
    when ((old.state, old.attempt, old.position, old.holds_order, old.check_passed, old.report_due) is distinct from
      (new.state, new.attempt, new.position, new.holds_order, new.check_passed, new.report_due))
    execute function watch.note()`,
]

interface ChangeRow {
  operation: 'INSERT' | 'UPDATE' | 'DELETE'
  app_id: number
  import_id: string
  sequence_number: number
  dry_run: boolean
  has_bounds: boolean
  state: string
  attempt: number
  position: number
  holds_order: boolean
  check_passed: boolean
  report_due: boolean
  waited_ms: number | null
  unseen: number[]
  made_at: Date
  uncommitted: number[]
}

/**
 * Returns the recorded changes of the imports of some apps, or of all. `orderWaitMs` is `UPLOAD_ORDER_WAIT`: an import
 * waits at least this long for a preceding import that is still uploading.
 */
export async function recordedHistory(
  db: Database,
  orderWaitMs: number,
  appIds?: readonly number[],
): Promise<RecordedChange[]> {
  const { rows } = await sql<ChangeRow>`
    select *, array(
      select e.sequence_number from watch.changes e
      where e.app_id = c.app_id and e.state = 'queued' and e.attempt = 0 and e.change < c.change
        and e.transaction >= pg_snapshot_xmin(c.snapshot) and not pg_visible_in_snapshot(e.transaction, c.snapshot)
    ) as uncommitted
    from watch.changes c where ${appIds === undefined} or app_id = any(${appIds ?? []}::integer[]) order by change
  `.execute(db)
  return rows.map((row) => ({
    appId: row.app_id,
    importId: row.import_id,
    number: row.sequence_number,
    isNew: row.operation === 'INSERT',
    isGone: row.operation === 'DELETE',
    isDryRun: row.dry_run,
    hasBounds: row.has_bounds,
    // A negative time shows that the clock of Postgres was set back. How long the import has waited is then unknown.
    hasWaited: row.waited_ms !== null && (row.waited_ms >= orderWaitMs || row.waited_ms < 0),
    unseen: [...row.unseen, ...row.uncommitted].map(Number),
    madeAt: row.made_at,
    row: {
      state: row.state,
      attempt: row.attempt,
      position: row.position,
      holdsOrder: row.holds_order,
      isChecked: row.check_passed,
      reportDue: row.report_due,
    },
  }))
}

/**
 * Returns the imports of each app in the order in which they were applied: the order of the claims under which they
 * committed their first batches, or ended.
 */
export function appliedOrder(history: readonly RecordedChange[]): Map<number, string[]> {
  const order = new Map<number, string[]>()
  const begun = new Set<string>()
  for (const { appId, importId, isNew, row } of history) {
    const before = order.get(appId) ?? []
    if (isNew || row.state !== 'processing' || begun.has(importId)) continue
    if (row.position > 0) begun.add(importId)
    order.set(appId, [...before.filter((each) => each !== importId), importId])
  }
  return order
}
