import { join } from 'node:path'
import { sql } from '@sluice/database'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, ended, openApp, upload } from '../stack/client.ts'
import { signal, stillRunning } from '../stack/processes.ts'
import { type RunningStack, startStack } from '../stack/running-stack.ts'
import { deletedBatches } from '../stack/worker-log.ts'
import { emptyRedis, filesWith, redisKeysWith, tablesWith } from './traces.ts'

// The maintenance of real workers completes deletions even if workers are killed, on both stores of the queues.
const redis = inject('redisUrl')
const stores = [['Postgres', undefined] as const, ...(redis === undefined ? [] : [['Redis', redis] as const])]

/** Occurs only in the IDs of the users who are deleted. */
const marker = `marker-${crypto.randomUUID()}`
const users = Array.from({ length: 9_000 }, (_, index) => `${marker}-${index}`)

/** Number of users that each of two requests names. A third of all users is in both. */
const requested = 6_000

/** Number of users in a batch, small enough that the completion of a deletion takes seconds. */
const batchUsers = '100'

/** Long enough for a busy machine, ms. */
const timeoutMs = 120_000

describe.each(stores)('queues on %s', (_, sharedRedis) => {
  let stack: RunningStack
  let redisUrl: string | undefined

  beforeAll(async () => {
    redisUrl = sharedRedis === undefined ? undefined : await emptyRedis(sharedRedis, 11)
    const store = redisUrl === undefined ? {} : { redisUrl }
    stack = await startStack({ ...store, workers: 2, env: { DELETION_BATCH_USERS: batchUsers } })
    return () => stack.stop()
  })

  test(
    'a worker that is killed in the middle of a completion is replaced; nothing is left half done, and one mail is sent',
    async () => {
      const app = await openDueApp(stack)
      await until('some users gone', async () => (await usersOf(stack, app)) < users.length - 1_000, timeoutMs)
      const [batch] = await deletedBatches(stack.home, app.appId)
      const pid = batch?.pid ?? expect.fail('no worker has deleted anybody')
      signal(pid, 'SIGKILL')
      await until('the end of the worker', async () => (await stillRunning([pid])).length === 0)
      expect(await usersOf(stack, app)).toBeGreaterThan(1)
      expect(await deletionMails(stack, app)).toEqual([])

      await until('the completion', () => isCompleted(stack, app), timeoutMs)
      const pids = (await deletedBatches(stack.home, app.appId)).map((deleted) => deleted.pid)
      expect(new Set(pids).size).toBeGreaterThan(1)
      await expectCompletion(stack, app)
      await expectErasure(stack, redisUrl)
    },
    2 * timeoutMs,
  )

  test(
    'several processes at once complete a deletion once',
    async () => {
      const app = await openDueApp(stack)
      const runs = await Promise.all(Array.from({ length: 3 }, () => stack.pipeToSluice('', 'deletions', 'run')))
      await until('the completion', () => isCompleted(stack, app), timeoutMs)
      expect(runs.map(({ code }) => code)).toEqual([0, 0, 0])
      await expectCompletion(stack, app)
    },
    2 * timeoutMs,
  )
})

/**
 * Opens an app with an import that holds the users' IDs. The app's two deletion requests are two months old, and have
 * 3,000 users in common.
 */
async function openDueApp(stack: RunningStack): Promise<App> {
  const { api, db } = stack
  const app = await openApp(stack, [...users, 'stays'])
  const { appId, token } = app
  const rows = users.map((user) => `${user},Name\n`).join('')
  const importId = await upload(api, token, Buffer.from(`user_id,name\n${rows}${marker}-unknown,Name\n`))
  expect(await ended(api, token, importId)).toMatchObject({ rows_applied: users.length, rows_failed: 1 })
  for (const from of [0, users.length - requested]) {
    const answer = await fetch(`${api}/v3/user_data_deletions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Service-Token': token },
      body: JSON.stringify({ identity_type: 'user_id', identity_value: users.slice(from, from + requested) }),
    })
    expect(answer.status).toBe(202)
  }
  const long = sql`interval '70 days'`
  await sql`
    update deletion_requests
    set accepted_at = accepted_at - ${long}, starts_at = starts_at - ${long}, completes_at = completes_at - ${long}
    where app_id = ${appId}
  `.execute(db)
  return app
}

async function usersOf({ db }: RunningStack, { appId }: App): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) from users where app_id = ${appId}`.execute(db)
  return rows[0]?.count ?? 0
}

async function isCompleted({ db }: RunningStack, { appId }: App): Promise<boolean> {
  const requests = await db.selectFrom('deletion_requests').select('state').where('app_id', '=', appId).execute()
  return requests.every(({ state }) => state === 'completed')
}

/** Expects that every named user is deleted, counted once, proved for each request, and reported in one mail. */
async function expectCompletion(stack: RunningStack, app: App): Promise<void> {
  expect(await usersOf(stack, app)).toBe(1)
  const { rows } = await sql`
    select sum(users_requested) as requested, sum(users_processed) as processed, sum(users_deleted) as deleted,
      sum(values_deleted)::bigint as values,
      (select count(*) from deleted_users where app_id = ${app.appId}) as proofs,
      (select count(*) from deletion_request_users where app_id = ${app.appId}) as named
    from deletion_requests where app_id = ${app.appId}
  `.execute(stack.db)
  const all = users.length
  expect(rows).toEqual([
    { requested: 2 * requested, processed: all, deleted: all, values: all, proofs: 2 * requested, named: 0 },
  ])
  await until('the end of sending', async () => {
    const mails = await stack.db.selectFrom('mails').select('state').where('app_id', '=', app.appId).execute()
    return mails.every(({ state }) => state === 'sent')
  })
  expect(await deletionMails(stack, app)).toEqual(['User deletion completed: 9,000 users deleted'])
}

/** Returns the subjects of the deletion mails to the owner of an app. */
async function deletionMails({ mailsTo }: RunningStack, { email }: App): Promise<string[]> {
  const subjects = (await mailsTo(email)).map(({ subject }) => subject)
  return subjects.filter((subject) => subject.startsWith('User deletion'))
}

/** Expects that no ID is left in the database, the queues, storage, the logs or the mails. */
async function expectErasure({ db, home }: RunningStack, redisUrl: string | undefined): Promise<void> {
  expect(await tablesWith(db, marker)).toEqual([])
  if (redisUrl !== undefined) expect(await redisKeysWith(redisUrl, marker)).toEqual([])
  for (const folder of ['storage', 'logs', 'mails']) expect(await filesWith(join(home, folder), marker)).toEqual([])
}
