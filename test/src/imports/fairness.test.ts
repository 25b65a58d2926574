import { gzipSync } from 'node:zlib'
import { sql } from '@sluice/database'
import { cancelImport, claimImport, claimNext, dispatchNextInOrder, importBacklog, runImport } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { changeImport } from './forced-states.ts'
import { claim, openApp, openImportFixture, profilesOf, queueFile, resultOf } from './import-fixture.ts'

// Every slice is over after its first batch.
const fixture = openBeforeEach(() => openImportFixture({ IMPORT_SLICE: '1ms', BATCH_ROWS: '2', INFERENCE_ROWS: '3' }))
let [appId, otherId] = [0, 0]
const noShutdown = new AbortController().signal
const users = Array.from({ length: 30 }, (_, user) => `u${user}`)
const rows = users.map((user, row) => `${user},${row},${row % 7 === 0 ? 'x' : row}\n`).join('')
const long = `user_id,a,n\n${rows}`
const small = 'user_id,a\nu1,1\n'

beforeEach(async () => {
  appId = await openApp(fixture, users)
  otherId = await openApp(fixture, users)
})

/** Dispatches the imports that are next in order, and lets more time pass than a claim takes. */
async function dispatchAndWait(): Promise<string[]> {
  const dispatched = await dispatchNextInOrder(fixture.context)
  await sql`update imports set dispatched_at = dispatched_at - interval '1 s' where dispatched_at is not null`.execute(
    fixture.database.db,
  )
  return dispatched.map(({ importId }) => importId)
}

async function run(app: number, importId: string): Promise<string> {
  return (await runImport(fixture.context, await claim(fixture, app, importId), noShutdown)).outcome
}

/**
 * Runs an import to its end while a small import of the other app waits all the time. Returns the outcomes of the
 * import's claims.
 */
async function runInSlices(importId: string): Promise<string[]> {
  await queueFile(fixture, otherId, small)
  await dispatchAndWait()
  const outcomes: string[] = []
  while (outcomes.length < 100 && outcomes.at(-1) !== 'completed') outcomes.push(await run(appId, importId))
  return outcomes
}

// design.md §3, Fairness.
describe('an import whose slice is over', () => {
  test.each([
    ['a plain file', 'text/csv', long, false],
    ['a compressed file', 'application/gzip', gzipSync(long), false],
    ['a dry run', 'text/csv', long, true],
  ] as const)(
    'is released while another app waits, and continues from its position: %s',
    async (_, type, file, dryRun) => {
      const reference = await openApp(fixture, users)
      const whole = await queueFile(fixture, reference, file, type, dryRun)
      expect(await run(reference, whole)).toBe('completed')
      const importId = await queueFile(fixture, appId, file, type, dryRun)
      const outcomes = await runInSlices(importId)
      expect(outcomes.slice(0, -1)).toEqual(Array.from({ length: outcomes.length - 1 }, () => 'released'))
      expect(outcomes.length).toBeGreaterThan(3)

      const [sliced, expected] = [await resultOf(fixture, appId, importId), await resultOf(fixture, reference, whole)]
      const { rows_total, rows_applied, rows_failed, types } = expected.view
      expect(sliced.view).toMatchObject({ state: 'completed', rows_total, rows_applied, rows_failed, types })
      expect(sliced.errorFile).toEqual(expected.errorFile)
      expect(await profilesOf(fixture, appId)).toEqual(await profilesOf(fixture, reference))
    },
  )

  test('uses up no try, however often it is released', async () => {
    const importId = await queueFile(fixture, appId, long + rows.repeat(5))
    await queueFile(fixture, otherId, small)
    await dispatchAndWait()
    for (let slice = 0; slice < 7; slice++) {
      expect(await run(appId, importId)).toBe('released')
      const { tries, retry_at } = await fixture.database.db
        .selectFrom('imports')
        .select(['tries', 'retry_at'])
        .where('import_id', '=', importId)
        .executeTakeFirstOrThrow()
      expect([tries, retry_at]).toEqual([0, null])
    }
  })

  test('continues without a release while no other app waits: not even other imports of its own app count', async () => {
    const importId = await queueFile(fixture, appId, long)
    await queueFile(fixture, appId, small)
    await queueFile(fixture, appId, small, 'text/csv', true)
    await dispatchAndWait()
    expect(await run(appId, importId)).toBe('completed')
  })

  test('continues beside an import that was dispatched a moment ago: a free worker claims this import', async () => {
    const importId = await queueFile(fixture, appId, long)
    await queueFile(fixture, otherId, small)
    await dispatchNextInOrder(fixture.context)
    // Keeps the dispatch recent, even if a slow machine takes long to read the file.
    await sql`update imports set dispatched_at = now() + interval '1 min' where app_id = ${otherId}`.execute(
      fixture.database.db,
    )
    expect(await run(appId, importId)).toBe('completed')
  })

  test('keeps its app: no other import of the app runs before its end, even an earlier one that is uploaded meanwhile', async () => {
    const importId = await queueFile(fixture, appId, long)
    const later = await queueFile(fixture, appId, small)
    await queueFile(fixture, otherId, small)
    await dispatchAndWait()
    expect(await run(appId, importId)).toBe('released')
    await sql`update imports set sequence_number = default where import_id = ${importId}`.execute(fixture.database.db)
    expect(await claimImport(fixture.context, { appId, importId: later })).toBeUndefined()
    expect(await dispatchNextInOrder(fixture.context, appId)).toMatchObject([{ importId }])
    await cancelImport(fixture.database.db, { appId, importId })
    expect(await dispatchNextInOrder(fixture.context, appId)).toMatchObject([{ importId: later }])
  })
})

// design.md §3, Fairness.
describe('a dry run beside an import of its app', () => {
  test('is released as soon as another app waits, however long its slice', async () => {
    const patient = { ...fixture.context, settings: { ...fixture.context.settings, IMPORT_SLICE: 3_600_000 } }
    const dryRun = await queueFile(fixture, appId, long, 'text/csv', true)
    await claim(fixture, appId, await queueFile(fixture, appId, long))
    await queueFile(fixture, otherId, small)
    await dispatchAndWait()
    const claimed = await claim(fixture, appId, dryRun)
    expect((await runImport(patient, claimed, noShutdown)).outcome).toBe('released')
  })

  test('does not begin while another app waits, so that its app never holds the last free slot', async () => {
    const dryRun = await queueFile(fixture, appId, small, 'text/csv', true)
    await claim(fixture, appId, await queueFile(fixture, appId, long))
    const other = await queueFile(fixture, otherId, long)
    await dispatchAndWait()
    expect((await claimNext(fixture.context))?.importId).toBe(other)
    expect((await claimNext(fixture.context))?.importId).toBe(dryRun)
  })
})

describe('of the imports that wait for a worker', () => {
  const sizes = { small: 1_000, large: 900_000_000 }
  /** Queues an import of `app`, or of a new app, with `bytes` as the size of its file. Returns the import's ID. */
  async function queueOf(bytes: number, app?: number): Promise<string> {
    const importId = await queueFile(fixture, app ?? (await openApp(fixture, users)), small)
    await changeImport(fixture.database.db, importId, { stored_size: bytes })
    return importId
  }
  const fair = () => ({ ...fixture.context, settings: { ...fixture.context.settings, IMPORT_SLICE: 30_000 } })
  const nextId = async () => (await claimNext(fair()))?.importId

  test('a small one runs before any number of older large ones', async () => {
    for (let app = 0; app < 20; app++) await queueOf(sizes.large)
    const newcomer = await queueOf(sizes.small)
    await dispatchAndWait()
    expect(await nextId()).toBe(newcomer)
  })

  test('one of an app that used slots recently runs after those of other apps', async () => {
    const large = await queueOf(sizes.large, appId)
    await sql`insert into import_slot_time values (${appId}, 30, now())`.execute(fixture.database.db)
    const others = [await queueOf(sizes.large), await queueOf(sizes.large)]
    await dispatchAndWait()
    expect([await nextId(), await nextId()].toSorted()).toEqual(others.toSorted())
    expect(await nextId()).toBe(large)
  })

  test('a small one of an app that has used up its share runs after a large one of another app', async () => {
    const large = await queueOf(sizes.large)
    const first = await queueOf(sizes.small, appId)
    await dispatchAndWait()
    expect(await nextId()).toBe(first)
    // The small imports of the app have together used slightly more than a slice.
    await sql`insert into import_slot_time values (${appId}, 31, now())`.execute(fixture.database.db)
    await cancelImport(fixture.database.db, { appId, importId: first })
    await queueOf(sizes.small, appId)
    await dispatchAndWait()
    expect(await nextId()).toBe(large)
  })

  test('one that has waited for long runs before newcomers, whatever its size', async () => {
    const large = await queueOf(sizes.large)
    await sql`update imports set queued_at = now() - interval '5 h'`.execute(fixture.database.db)
    await queueOf(5_000_000)
    await dispatchAndWait()
    expect(await nextId()).toBe(large)
  })

  test('the time that a claim used is noted, at most as three slices', async () => {
    const noted = async () => {
      const { rows } = await sql<{ seconds: number }>`
        select seconds from import_slot_time where app_id = ${appId}`.execute(fixture.database.db)
      return rows[0]?.seconds ?? 0
    }
    await run(appId, await queueFile(fixture, appId, small))
    expect(await noted()).toBeGreaterThan(0)
    expect(await noted()).toBeLessThanOrEqual(0.003)
  })

  test('one that is not next in order any more does not keep the others from being claimed', async () => {
    const [first, second] = [await queueOf(sizes.small, appId), await queueOf(sizes.large)]
    await dispatchAndWait()
    // An earlier import of its app, whose upload is noticed only now.
    const earlier = await queueOf(sizes.large, appId)
    await sql`update imports set sequence_number = default where import_id = ${first}`.execute(fixture.database.db)
    expect(await nextId()).toBe(second)
    expect(await nextId()).toBeUndefined()
    expect(await dispatchAndWait()).toEqual([earlier])
    // The first import is dispatched again as soon as it is next in order.
    await cancelImport(fixture.database.db, { appId, importId: earlier })
    expect(await dispatchAndWait()).toEqual([first])
  })

  test('autoscaling counts the imports that can run now: at most one import and one dry run of each app', async () => {
    const count = async () => {
      const { rows } = await sql<{ runnable: number }>`select runnable_imports() as runnable`.execute(
        fixture.database.db,
      )
      expect((await importBacklog(fixture.database.db)).runnable).toBe(rows[0]?.runnable)
      return rows[0]?.runnable
    }
    await claim(fixture, appId, await queueFile(fixture, appId, long))
    for (let time = 0; time < 3; time++) await queueFile(fixture, appId, small)
    expect(await count()).toBe(1)
    await queueFile(fixture, appId, small, 'text/csv', true)
    expect(await count()).toBe(2)
    const postponed = await queueFile(fixture, otherId, small)
    await queueFile(fixture, otherId, small)
    expect(await count()).toBe(3)
    await changeImport(fixture.database.db, postponed, { retry_at: new Date(Date.now() + 50_000) })
    expect(await count()).toBe(2)
    const awaited = await queueFile(fixture, await openApp(fixture), small)
    expect(await count()).toBe(3)
    await changeImport(fixture.database.db, awaited, { state: 'awaiting_upload' })
    expect(await count()).toBe(2)
  })
})
