import { cliUser } from '@sluice/cli-app/src/audit.ts'
import { sql } from '@sluice/database'
import {
  type ClaimedImport,
  claimImport,
  claimNext,
  dispatchNextInOrder,
  importBacklog,
  pauseImports,
  resumeImports,
  runImport,
  showImport,
} from '@sluice/imports'
import { importOverview } from '@sluice/operations'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { runSluice } from '../environment/sluice-command.ts'
import { claim, openApp, openImportFixture, profilesOf, queueFile } from '../imports/import-fixture.ts'
import { sluice } from './command-line.ts'

// An operator stops one app, or all apps (docs/operations.md, Pausing).
const fixture = openBeforeEach(() => openImportFixture({ IMPORT_SLICE: '1ms', BATCH_ROWS: '2', INFERENCE_ROWS: '3' }))
let [appId, otherId] = [0, 0]
const noShutdown = new AbortController().signal
const users = Array.from({ length: 30 }, (_, user) => `u${user}`)
const rows = 120
const file = `user_id,a\n${Array.from({ length: rows }, (_, row) => `${users[row % users.length]},${row}\n`).join('')}`

beforeEach(async () => {
  appId = await openApp(fixture, users)
  otherId = await openApp(fixture, users)
})

const dispatched = async () => (await dispatchNextInOrder(fixture.context)).map(({ importId }) => importId)
const runnable = async () => {
  const { rows } = await sql<{ runnable: number }>`select runnable_imports() as runnable`.execute(fixture.database.db)
  return rows[0]?.runnable
}
const rowOf = (importId: string) =>
  fixture.database.db
    .selectFrom('imports')
    .select(['state', 'tries', 'retry_at', 'holds_order', 'position', 'rows_total'])
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()

// second-day.md §6, Pauses.
test('no import of a paused app is dispatched or claimed, and other apps go on', async () => {
  const paused = await queueFile(fixture, appId, file)
  const other = await queueFile(fixture, otherId, file)
  await pauseImports(fixture.database.db, appId)
  expect(await dispatched()).toEqual([other])
  expect(await claimImport(fixture.context, { appId, importId: paused })).toBeUndefined()
  expect((await claimNext(fixture.context))?.importId).toBe(other)
  await resumeImports(fixture.database.db, appId)
  expect(await dispatched()).toEqual([paused])
})

test('while all apps are paused, no import is claimed; an app that was paused itself stays paused afterwards', async () => {
  const paused = await queueFile(fixture, appId, file)
  const other = await queueFile(fixture, otherId, file)
  const { db } = fixture.database
  await pauseImports(db, appId)
  await pauseImports(db, undefined)
  expect(await dispatched()).toEqual([])
  expect(await claimImport(fixture.context, { appId: otherId, importId: other })).toBeUndefined()
  await resumeImports(db, undefined)
  expect(await dispatched()).toEqual([other])
  expect(await claimImport(fixture.context, { appId, importId: paused })).toBeUndefined()
})

test('an import that was dispatched before the pause is not claimed, and does not keep others from their slots', async () => {
  const paused = await queueFile(fixture, appId, file)
  const running = await queueFile(fixture, otherId, file)
  await dispatchNextInOrder(fixture.context, appId)
  await pauseImports(fixture.database.db, appId)
  expect(await claimNext(fixture.context)).toBeUndefined()
  expect((await runImport(fixture.context, await claim(fixture, otherId, running), noShutdown)).outcome).toBe(
    'completed',
  )
  expect((await rowOf(paused)).state).toBe('queued')
})

test.each([
  ['its app', () => appId],
  ['all apps', () => undefined],
])('a running import is released after its batch by a pause of %s, and uses up no try', async (_, scope) => {
  const importId = await queueFile(fixture, appId, file)
  const claimed: ClaimedImport = await claim(fixture, appId, importId)
  const { db } = fixture.database
  let pausing: Promise<unknown> | undefined
  const onBatch = () => {
    pausing ??= pauseImports(db, scope())
  }
  expect((await runImport({ ...fixture.context, onBatch }, claimed, noShutdown)).outcome).toBe('released')
  expect(await pausing).toBe(true)
  const released = await rowOf(importId)
  expect(released).toMatchObject({ state: 'queued', tries: 0, retry_at: null, holds_order: true })
  expect(released.rows_total).toBeGreaterThan(0)
  expect(released.rows_total).toBeLessThan(rows)

  await resumeImports(db, scope())
  expect((await runImport(fixture.context, await claim(fixture, appId, importId), noShutdown)).outcome).toBe(
    'completed',
  )
  expect(Object.keys(await profilesOf(fixture, appId))).toHaveLength(users.length)
  expect((await rowOf(importId)).rows_total).toBe(rows)
})

test('paused apps count neither for autoscaling nor as waiting, and the backlog tells how many there are', async () => {
  await queueFile(fixture, appId, file)
  await queueFile(fixture, otherId, file)
  const { db } = fixture.database
  await sql`update imports set queued_at = now() - interval '1 hour' where app_id = ${appId}`.execute(db)
  expect(await runnable()).toBe(2)
  await pauseImports(db, appId)
  expect(await runnable()).toBe(1)
  const backlog = await importBacklog(db)
  expect(backlog).toMatchObject({ runnable: 1, pausedApps: 1, allPaused: false, states: { queued: 2 } })
  expect(backlog.oldestWaiting.one).toBeLessThan(600)
  expect((await importOverview(db)).oldestWaiting?.appId).toBe(otherId)
  await pauseImports(db, undefined)
  expect(await runnable()).toBe(0)
  expect(await importBacklog(db)).toMatchObject({ runnable: 0, allPaused: true, oldestWaiting: { one: 0 } })
  expect((await importOverview(db)).oldestWaiting).toBeUndefined()
})

test.each([
  ['an app', () => appId],
  ['all apps', () => undefined],
])('the pause of %s is no waiting time once imports have resumed', async (_, scope) => {
  const { db } = fixture.database
  const importId = await queueFile(fixture, appId, file)
  await sql`update imports set queued_at = now() - interval '2 hours'`.execute(db)
  expect((await importBacklog(db)).oldestWaiting.one).toBeGreaterThan(7_000)
  await pauseImports(db, scope())
  await resumeImports(db, scope())
  expect((await importBacklog(db)).oldestWaiting.one).toBeLessThan(600)
  const { oldestWaiting } = await importOverview(db)
  expect(oldestWaiting?.importId).toBe(importId)
  expect(Date.now() - Number(oldestWaiting?.since)).toBeLessThan(600_000)
})

test('the status of an unfinished import says that it is paused, also with all apps, and only then', async () => {
  const ended = await queueFile(fixture, appId, file)
  await runImport(fixture.context, await claim(fixture, appId, ended), noShutdown)
  const waiting = await queueFile(fixture, appId, file)
  const { db } = fixture.database
  const status = async (importId: string) => await showImport(db, undefined, { appId: 'any', importId })
  expect(await status(waiting)).not.toHaveProperty('paused')
  await pauseImports(db, appId)
  expect(await status(waiting)).toMatchObject({ state: 'queued', paused: true })
  expect(await status(waiting)).not.toHaveProperty('all_apps_paused')
  expect(await status(ended)).not.toHaveProperty('paused')
  await pauseImports(db, undefined)
  expect(await status(waiting)).toMatchObject({ paused: true, all_apps_paused: true })
  expect(await status(ended)).not.toHaveProperty('all_apps_paused')
  const shown = await runSluice(['imports', 'show', waiting], { DATABASE_URL: fixture.database.url })
  expect(shown.stdout).toMatch(/Paused +imports of all apps are paused by an operator\n/)
  await resumeImports(db, undefined)
  await resumeImports(db, appId)
  expect(await status(waiting)).not.toHaveProperty('paused')
})

test('the command line pauses and resumes an app and all apps, and says if nothing changed', async () => {
  const app = ['--app', String(appId)]
  expect((await sluice(fixture.database, ['app', 'pause', ...app])).json).toEqual({
    app_id: appId,
    paused: true,
    changed: true,
  })
  expect((await sluice(fixture.database, ['app', 'pause', ...app])).json).toMatchObject({ changed: false })
  expect((await sluice(fixture.database, ['pause'])).json).toEqual({ paused: true, changed: true })
  expect(await importBacklog(fixture.database.db)).toMatchObject({ pausedApps: 1, allPaused: true })
  await queueFile(fixture, otherId, file)
  expect((await sluice(fixture.database, ['queues'])).json).toMatchObject({
    pauses: [
      { app_id: null, by: cliUser().name },
      { app_id: appId, by: cliUser().name },
    ],
    imports: { queued: 1 },
    workers: { alive: 0, lost: 0 },
  })
  const { stdout } = await runSluice(['queues'], { DATABASE_URL: fixture.database.url })
  expect(stdout).toMatch(/^Paused +all apps since \S+ \S+ by .+\nQueued +1\n(.+\n)+Workers +0 alive\n/)
  expect((await sluice(fixture.database, ['resume'])).json).toEqual({ paused: false, changed: true })
  expect((await sluice(fixture.database, ['app', 'resume', ...app])).json).toMatchObject({
    paused: false,
    changed: true,
  })
  expect((await sluice(fixture.database, ['app', 'pause', '--app', '999'])).code).toBe(1)
})
