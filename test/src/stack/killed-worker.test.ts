import { createHash } from 'node:crypto'
import { sql } from '@sluice/database'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, download, ended, openApp, statusOf, upload } from './client.ts'
import { type LargeFileCounts, largeFileInMemory, userIds } from './large-file.ts'
import { signal } from './processes.ts'
import { type RunningStack, startStack } from './running-stack.ts'
import { importLog, lastClaim } from './worker-log.ts'

// The guarantees of design.md §4 if workers die or hang in the middle of a file, compared with an undisturbed run.
let stack: RunningStack
let file: Buffer
let counts: LargeFileCounts
let undisturbed: Outcome

const users = 100_000
const rows = 300_000

/** Timeout for a busy machine, ms. On an idle machine the whole file takes about a minute. */
const timeoutMs = 120_000

beforeAll(async () => {
  stack = await startStack({ workers: 2, env: { IMPORT_LEASE: '2s' } })
  ;({ file, counts } = largeFileInMemory({ rows, users }))
  const app = await openAppOfFile()
  undisturbed = await outcome(app, await upload(stack.api, app.token, file))
}, 2 * timeoutMs)

afterAll(() => stack.stop())

test('an undisturbed run counts the rows of the file', () => {
  expect(undisturbed).toMatchObject({
    state: 'completed',
    rows_total: rows,
    rows_applied: rows - counts.invalid,
    rows_failed: counts.invalid,
    users,
    mails: 1,
  })
})

test(
  'workers that are killed repeatedly are replaced, and no row is lost or applied twice',
  async () => {
    const app = await openAppOfFile()
    const importId = await upload(stack.api, app.token, file)
    const killed = new Set<number>()
    for (const progress of [0.1, 0.4, 0.7]) {
      await untilProgress(app, importId, progress)
      const claim = await lastClaim(stack.home, importId)
      expect(claim?.attempt).toBe(killed.size + 1)
      if (claim === undefined) continue
      killed.add(claim.pid)
      signal(claim.pid, 'SIGKILL')
      await until('another claim', async () => {
        const next = await lastClaim(stack.home, importId)
        return next !== undefined && next.attempt > claim.attempt
      })
    }
    expect(await outcome(app, importId)).toEqual(undisturbed)
    expect(killed.size).toBe(3)
    expect((await lastClaim(stack.home, importId))?.attempt).toBe(4)
  },
  2 * timeoutMs,
)

test(
  'a worker that hangs in a transaction is replaced, and cannot write when it wakes up',
  async () => {
    const app = await openAppOfFile()
    const importId = await upload(stack.api, app.token, file)
    await untilProgress(app, importId, 0.2)
    const sleeper = (await lastClaim(stack.home, importId)) ?? expect.fail('nobody has claimed the import')
    onTestFinished(() => signal(sleeper.pid, 'SIGCONT'))
    await hangInTransaction(sleeper.pid)
    await until('the successor', async () => (await lastClaim(stack.home, importId))?.attempt === sleeper.attempt + 1)
    await untilProgress(app, importId, 0.5)
    signal(sleeper.pid, 'SIGCONT')
    await until('the end of the lost claim', async () => {
      const log = await importLog(stack.home, importId)
      return log.some(({ pid, msg }) => pid === sleeper.pid && msg.startsWith('claim lost'))
    })
    expect(await outcome(app, importId)).toEqual(undisturbed)
  },
  2 * timeoutMs,
)

function openAppOfFile(): Promise<App> {
  return openApp(stack, [...userIds(users)])
}

/**
 * Stops a worker in a transaction, between the lookup of users and the writes. Repeats this until the worker is caught
 * there, each time for less than a lease.
 */
async function hangInTransaction(pid: number): Promise<void> {
  await until('a worker caught in a transaction', async () => {
    signal(pid, 'SIGSTOP')
    await until('the end of its query', async () => (await lookupsIn('active')) === 0)
    if ((await lookupsIn('idle in transaction')) > 0) return true
    signal(pid, 'SIGCONT')
    return false
  })
}

/** Returns the number of connections in a state whose last query is a batch's lookup of users. */
async function lookupsIn(state: string): Promise<number> {
  const { rows: found } = await sql<{ count: number }>`
    select count(*) from pg_stat_activity
    where state = ${state} and query ~ 'array_agg.*from (users|profiles)' and pid <> pg_backend_pid()
  `.execute(stack.db)
  return found[0]?.count ?? 0
}

/** Waits until a share of the rows, but not all of them, is committed. */
async function untilProgress(app: App, importId: string, share: number): Promise<void> {
  const committedRows = async () => {
    const { rows_total: total } = await statusOf(stack.api, app.token, importId)
    return total >= share * rows && total
  }
  const committed = await until(`${share} of the rows`, committedRows, timeoutMs)
  expect(committed).toBeLessThan(rows)
}

/** Everything that an import leaves, except values that differ between runs: IDs, times and links. */
interface Outcome {
  state: string
  rows_total: number
  rows_applied: number
  rows_failed: number
  types: Record<string, string>
  keys: string
  users: number
  /** Digest of all users with their values. */
  profiles: string
  /** Digest of the error file. */
  errorFile: string
  mails: number
}

async function outcome(app: App, importId: string): Promise<Outcome> {
  const view = await ended(stack.api, app.token, importId, timeoutMs)
  const errorFile = await download(view.error_file_url ?? '')
  const { rows: found } = await sql<{ users: number; profiles: string }>`
    select (select count(*) from users where app_id = ${app.appId}) as users,
      md5(string_agg(user_id || attributes::text, chr(10) order by user_id)) as profiles
    from profiles where app_id = ${app.appId}
  `.execute(stack.db)
  const keys = await stack.db.selectFrom('profile_keys').selectAll().where('app_id', '=', app.appId).execute()
  await until('the mail', async () => (await stack.mailsTo(app.email)).length > 0)
  const { state, rows_total, rows_applied, rows_failed, types } = view
  return {
    ...{ state, rows_total, rows_applied, rows_failed, types },
    keys: keys
      .map(({ key, type }) => `${key}: ${type}`)
      .toSorted()
      .join(', '),
    users: found[0]?.users ?? 0,
    profiles: found[0]?.profiles ?? '',
    errorFile: createHash('md5').update(errorFile).digest('hex'),
    mails: await mailsSent(app),
  }
}

/** Waits until no mail of the app is waiting. Returns the number of mails in the inbox. */
async function mailsSent({ appId, email }: App): Promise<number> {
  await until('the end of sending', async () => {
    const mails = await stack.db.selectFrom('mails').select('state').where('app_id', '=', appId).execute()
    return mails.every(({ state }) => state === 'sent')
  })
  return (await stack.mailsTo(email)).length
}
