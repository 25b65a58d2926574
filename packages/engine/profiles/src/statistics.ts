import type { ProfileKeyView } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { keyList } from './keys.ts'

/** A key, and its values in a sample of an app's users. */
export interface KeyStatistics extends ProfileKeyView {
  /** Number of users in the sample that have a value. */
  filled: number
  /** A few different values, each cut to 60 characters; none of a disabled key. */
  examples: string[]
}

/** An app's keys with their values in a sample of its users. */
export interface ProfileStatistics {
  keys: KeyStatistics[]
  /** Maximum number of enabled keys. */
  limit: number
  /** Users in the sample. */
  sampled: number
  /** Whether the sample has all users of the app. */
  isComplete: boolean
}

/** Users in a sample: enough to see fill rates of a few percent, and read within milliseconds. */
const sampleSize = 1_000

/** Number of pages of users that are read at random. A page of 8 KiB holds about a hundred users. */
const samplePages = 100

const exampleLength = 60
const maxExamples = 3

/**
 * Returns the registered keys of an app with their values in a sample of its users.
 *
 * The cost does not grow with the number of users. The sample of a small app has all users; the sample of a large app
 * has users of random pages. Accepts the limit of keys for an app without one of its own.
 */
export async function profileStatistics(db: Database, appId: number, defaultLimit: number): Promise<ProfileStatistics> {
  const [{ profile_keys: registered, limit }, isComplete] = await Promise.all([
    keyList(db, appId, defaultLimit),
    isSmall(db, appId),
  ])
  const random = isComplete ? undefined : await statisticsOf(db, randomUsers(appId, await pageShare(db)))
  // Random pages of a large table may hold few users of this app. The first users by ID are the sample then.
  const isLargeEnough = random !== undefined && random.sampled === sampleSize
  const { sampled, found } = isLargeEnough ? random : await statisticsOf(db, firstUsers(appId))
  const keys = registered.map((view) => {
    const { filled = 0, examples = [] } = found.get(view.key) ?? {}
    return { ...view, filled, examples: view.enabled ? examples : [] }
  })
  return { keys, limit, sampled, isComplete }
}

/** Whether a sample can have all users of the app. */
async function isSmall(db: Database, appId: number): Promise<boolean> {
  const { rows } = await sql<{ users: number }>`
    select count(*) as users from (select from users where app_id = ${appId} limit ${sampleSize}) as first
  `.execute(db)
  return (rows[0]?.users ?? 0) < sampleSize
}

type Sample = ReturnType<typeof firstUsers>

function firstUsers(appId: number) {
  return sql<{ user_id: string }>`
    select app_id, user_id from users where app_id = ${appId} order by user_id limit ${sampleSize}`
}

function randomUsers(appId: number, percent: number): Sample {
  // Pages come in table order. Without a random order, the limit would select users of the first pages only.
  return sql`
    select app_id, user_id from users tablesample system (${percent}) where app_id = ${appId}
    order by random() limit ${sampleSize}`
}

/** Returns the share of `samplePages` in the table, in percent. */
async function pageShare(db: Database): Promise<number> {
  const { rows } = await sql<{ pages: number }>`
    select greatest(1, pg_relation_size('users') / current_setting('block_size')::integer) as pages
  `.execute(db)
  return Math.min(100, (100 * samplePages) / (rows[0]?.pages ?? 1))
}

async function statisticsOf(db: Database, sample: Sample) {
  const { rows } = await sql<{ key: string | null; filled: number; examples: string[] }>`
    with sample as materialized (${sample})
    select null as key, count(*) as filled, '{}'::text[] as examples from sample
    union all
    select key, count(*), (array_agg(distinct left(value, ${exampleLength + 1})))[1:${sql.raw(String(maxExamples))}]
    from sample join profiles using (app_id, user_id), each(attributes) group by key
  `.execute(db)
  const found = new Map(
    rows.flatMap(({ key, filled, examples }) =>
      key === null ? [] : [[key, { filled, examples: examples.map(cut) }] as const],
    ),
  )
  return { sampled: rows.find(({ key }) => key === null)?.filled ?? 0, found }
}

function cut(text: string): string {
  return text.length > exampleLength ? `${text.slice(0, exampleLength).toWellFormed()}…` : text
}
