import { type Database, sql } from '@sluice/database'
import type { AuditAction } from './actions.ts'

/** Who acts. `name` is an e-mail address, a system user, or the last characters of an API token. */
export interface Actor {
  type: 'member' | 'operator' | 'cli' | 'token' | 'guest'
  name: string
}

/** Something that somebody does. It must contain no profile value, no user ID and no secret. */
export interface AuditEvent {
  /** The app, or undefined if the event concerns the whole service. */
  appId: number | undefined
  who: Actor
  what: AuditAction
  /** The object of the action, such as an import's ID or a member's address. */
  target?: string | undefined
  /** The network address of the actor. */
  address?: string | undefined
  requestId?: string | undefined
}

/** How an action ended. An entry stays `started` if its process died. `unchanged`: everything was as wanted before. */
export type Outcome = 'started' | 'done' | 'unchanged' | 'refused' | 'failed'

/** Returns the outcome of a permitted action, which may have changed something. */
export function outcomeOf(hasChanged: boolean): Outcome {
  return hasChanged ? 'done' : 'unchanged'
}

/** The `app_id` of entries that concern the whole service. */
export const wholeService = 0

/** Longest stored text of a target, in UTF-16 units. */
const longestTarget = 255

/** An entry whose outcome is not known yet. */
export interface OpenEntry {
  /** Records the outcome. `more` adds what was not known when the entry began. */
  end(outcome: Outcome, more?: Partial<Pick<AuditEvent, 'appId' | 'target' | 'who'>>): Promise<void>
}

/** Begins an entry before its action, so that no action lacks its entry, whenever the process dies. */
export async function beginEntry(db: Database, event: AuditEvent): Promise<OpenEntry> {
  const { rows } = await sql<{ app_id: number; at: string; entry_id: number }>`
    insert into audit_log (app_id, who_type, who, what, target, address, request_id)
    values (${event.appId ?? wholeService}, ${event.who.type}, ${event.who.name}, ${event.what}, ${short(event.target)},
      ${event.address ?? null}, ${event.requestId ?? null})
    returning app_id, at::text as at, entry_id
  `.execute(db)
  const [entry] = rows
  if (entry === undefined) throw new Error('the audit log returned no entry')
  return {
    async end(outcome, more = {}) {
      await sql`
        update audit_log set outcome = ${outcome}, app_id = ${more.appId ?? entry.app_id},
          target = coalesce(${short(more.target)}::text, target),
          who_type = coalesce(${more.who?.type ?? null}::text, who_type), who = coalesce(${more.who?.name ?? null}::text, who)
        where app_id = ${entry.app_id} and at = ${entry.at}::timestamptz and entry_id = ${entry.entry_id}
      `.execute(db)
    },
  }
}

function short(target: string | undefined): string | null {
  return target?.replaceAll('\0', '').toWellFormed().slice(0, longestTarget).toWellFormed() ?? null
}

/** Records an event that has happened. */
export async function recordEvent(db: Database, event: AuditEvent): Promise<void> {
  await (await beginEntry(db, event)).end('done')
}

/**
 * Runs an action with its entry in the audit log (second-day.md §6, Audit log). The outcome is `failed` if the action
 * throws. Otherwise `describe` may derive the outcome, and what was not known before, from the result.
 *
 * Returns the result of the action. Throws its error, or the error of the entry: without an entry nothing happens.
 */
export async function audited<Result>(
  db: Database,
  event: AuditEvent,
  action: () => Promise<Result>,
  describe: (result: Result) => { outcome?: Outcome; appId?: number; target?: string } = () => ({}),
): Promise<Result> {
  const entry = await beginEntry(db, event)
  let result: Result
  try {
    result = await action()
  } catch (error) {
    await entry.end('failed').catch(() => {}) // the error of the action matters more
    throw error
  }
  const { outcome = 'done', ...more } = describe(result)
  await entry.end(outcome, more)
  return result
}

/** An action on things of several apps, such as imports. */
interface ManyEvent extends Omit<AuditEvent, 'appId' | 'target'> {
  /** The word for one of the things. */
  noun: string
}

/** Returns what the log says of things of several apps, such as `3 imports of 2 apps`. */
export function targetOfMany(noun: string, things: readonly { appId: number }[]): string {
  return `${counted(things.length, noun)} of ${counted(new Set(things.map(({ appId }) => appId)).size, 'app')}`
}

/**
 * Runs an action on the things of one app after the other, in their order, each with an entry in the audit log that has
 * their number. Returns all results. Throws as {@link audited} does; later apps are left alone then.
 */
export async function auditedByApp<Thing extends { appId: number }, Result>(
  db: Database,
  { noun, ...event }: ManyEvent,
  things: readonly Thing[],
  action: (ofApp: readonly Thing[]) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[] = []
  // changes.md §6.
  for (const [appId, ofApp] of Map.groupBy(things, (thing) => thing.appId)) {
    const ofOneApp = { ...event, appId, target: counted(ofApp.length, noun) }
    results.push(...(await audited(db, ofOneApp, () => action(ofApp))))
  }
  return results
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
