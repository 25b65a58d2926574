import { type ImportState, unfinishedImportStates } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { isAllowedChange } from '@sluice/imports'

/**
 * Makes the database record every change of an import's state or attempt. A trigger records it in the transaction that
 * makes the change, so no change is missed. A change that is rolled back leaves no record.
 */
export async function watchImports(db: Database): Promise<void> {
  for (const statement of statements) await sql.raw(statement).execute(db)
}

/** The statement that undoes {@link watchImports}. The trigger goes with its function. */
export const unwatchImports = 'drop schema if exists watch cascade'

const statements = [
  `create schema watch`,
  `create table watch.changes (
    change bigint generated always as identity primary key,
    app_id integer not null,
    import_id uuid not null,
    sequence_number bigint not null,
    before text not null,
    after text not null,
    attempt integer not null,
    position bigint not null,
    -- Unfinished imports of the app that precede this import, or have committed a batch.
    others jsonb not null,
    waited_ms double precision,
    at timestamptz not null default clock_timestamp()
  )`,
  `create function watch.note() returns trigger language plpgsql as $$
  begin
    insert into watch.changes (app_id, import_id, sequence_number, before, after, attempt, position, others, waited_ms)
    select new.app_id, new.import_id, new.sequence_number, old.state, new.state, new.attempt, new.position,
      coalesce(jsonb_agg(jsonb_build_object('sequence_number', e.sequence_number, 'state', e.state, 'position', e.position,
        'queued_ms', extract(epoch from clock_timestamp() - e.queued_at) * 1000))
        filter (where e.sequence_number is not null), '[]'),
      extract(epoch from clock_timestamp() - new.queued_at) * 1000
    from (select) one left join imports e on e.app_id = new.app_id and e.import_id <> new.import_id
      and (e.sequence_number < new.sequence_number or e.position > 0)
      and e.state in ('${unfinishedImportStates.join("', '")}') and new.state = 'processing' and old.state <> new.state;
    return new;
  end $$`,
  `create trigger watch after update on imports for each row
    when (old.state is distinct from new.state or old.attempt <> new.attempt) execute function watch.note()`,
]

interface Change {
  app_id: number
  import_id: string
  sequence_number: number
  before: ImportState
  after: ImportState
  attempt: number
  position: number
  others: { sequence_number: number; state: string; position: number; queued_ms: number | null }[]
  waited_ms: number | null
}

export interface Observation {
  /**
   * The order in which each app's imports were applied: the order of the claims under which they committed their first
   * batches.
   */
  order: Map<number, string[]>
  /** Events that must never happen, in words. */
  violations: string[]
}

/**
 * Replays the recorded changes of imports' states. Returns the order in which imports were applied, and each violation.
 * `orderWaitMs` is `UPLOAD_ORDER_WAIT`: an import waits at least this long for a
 * preceding import that is still uploading.
 */
export async function observe(db: Database, orderWaitMs: number): Promise<Observation> {
  const { rows } = await sql<Change>`select * from watch.changes order by change`.execute(db)
  const observation: Observation = { order: new Map(), violations: [] }
  const active = new Map<number, Change>()
  const attempts = new Map<string, number>()
  for (const change of rows) {
    const complain = (what: string) =>
      observation.violations.push(`app ${change.app_id}, import ${change.import_id}: ${what}`)
    const current = active.get(change.app_id)
    if (change.after === 'processing') {
      if (current !== undefined && current.import_id !== change.import_id)
        complain(`claimed while ${current.import_id} is active`)
      if (change.attempt !== (attempts.get(change.import_id) ?? 0) + 1)
        complain(`attempt ${change.attempt} out of order`)
      attempts.set(change.import_id, change.attempt)
      active.set(change.app_id, change)
      const isApproved = current?.import_id === change.import_id && change.before === 'queued'
      const others = isApproved ? change.others.filter(({ position }) => position > 0) : change.others
      noteOrder({ ...change, others }, orderWaitMs, observation, complain)
    } else {
      if (change.before === 'processing') {
        // Cancelling raises the attempt, so that the worker of the preceding attempt can write nothing more.
        const ending = change.after === 'cancelled' ? change.attempt - 1 : change.attempt
        if (current?.attempt !== ending) complain(`released or ended by another attempt than the last`)
      }
      // An approval raises the attempt, and so does the process that ends the import when its time is over.
      if (change.before === 'held') attempts.set(change.import_id, change.attempt)
      // A held import keeps its place in the order, also while it waits for a worker after its approval.
      const keepsOrder = change.after === 'held' || (change.before === 'held' && change.after === 'queued')
      if (current?.import_id === change.import_id && !keepsOrder) active.delete(change.app_id)
    }
    if (!isAllowedChange(change.before, change.after)) complain(`changed from ${change.before} to ${change.after}`)
  }
  return observation
}

/**
 * Adds a claim to the order of its app. The claim under which an import commits its first batch decides its place in
 * the order.
 *
 * An import may be claimed before a preceding import only while the preceding import uploads, and only after the wait.
 * After an import's first batch, no other import of the app may be claimed until this import ends: two files never
 * interleave.
 */
function noteOrder(
  change: Change,
  orderWaitMs: number,
  { order }: Observation,
  complain: (what: string) => void,
): void {
  const before = order.get(change.app_id) ?? []
  if (change.position > 0 && before.at(-1) === change.import_id) return
  if (change.position > 0) complain(`claimed again after ${before.at(-1)} was claimed between two of its batches`)
  order.set(change.app_id, [...before.filter((importId) => importId !== change.import_id), change.import_id])
  for (const other of change.others) {
    const waited = change.waited_ms ?? 0
    // A negative time shows that the clock of Postgres was set back. How long the import has waited is then unknown.
    const mayPass = isUploading(other) && (waited >= orderWaitMs || waited < 0)
    if (other.position > 0)
      complain(`claimed while number ${other.sequence_number} is released between two of its batches`)
    else if (!mayPass) complain(`claimed after ${waited} ms before ${JSON.stringify(other)} of its order`)
  }
}

/**
 * The record of a claim may show an upload as queued that the claim itself could not see yet. Such an upload was queued
 * less than this time before the claim, ms.
 */
const sameMomentMs = 1_000

function isUploading({ state, queued_ms: queued }: Change['others'][number]): boolean {
  return state === 'awaiting_upload' || (state === 'queued' && (queued ?? sameMomentMs) < sameMomentMs)
}
