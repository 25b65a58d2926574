import { gzipSync } from 'node:zlib'
import { sql } from '@sluice/database'
import { cancelImport, claimImport, claimNext, importBacklog, runImport, takeTurns } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim, openApp, openWorkshop, profilesOf, queueFile, resultOf, type Workshop } from './workshop.ts'

// No app holds the slots of the workers while another one waits (design.md §3, Fairness).
let workshop: Workshop
let [appId, otherId] = [0, 0]
const never = new AbortController().signal
const users = Array.from({ length: 30 }, (_, user) => `u${user}`)
const rows = users.map((user, row) => `${user},${row},${row % 7 === 0 ? 'x' : row}\n`).join('')
const long = `user_id,a,n\n${rows}`
const small = 'user_id,a\nu1,1\n'

beforeEach(async () => {
  // Every slice is over after its first batch.
  workshop = await openWorkshop({ IMPORT_SLICE: '1ms', BATCH_ROWS: '2', INFERENCE_ROWS: '3' })
  appId = await openApp(workshop, users)
  otherId = await openApp(workshop, users)
  return () => workshop.close()
})

/** Dispatches what is next, and lets time pass: an import that waits for longer than a claim takes. */
async function dispatchAndWait(): Promise<string[]> {
  const turns = await takeTurns(workshop.context)
  await sql`update imports set dispatched_at = dispatched_at - interval '1 s' where dispatched_at is not null`.execute(
    workshop.database.db,
  )
  return turns.map(({ importId }) => importId)
}

async function run(app: number, importId: string): Promise<string> {
  return (await runImport(workshop.context, await claim(workshop, app, importId), never)).outcome
}

/** Runs an import to its end while a small one of the other app waits all the time. Returns the outcomes of its claims. */
async function runInSlices(importId: string): Promise<string[]> {
  await queueFile(workshop, otherId, small)
  await dispatchAndWait()
  const outcomes: string[] = []
  while (outcomes.length < 100 && outcomes.at(-1) !== 'completed') outcomes.push(await run(appId, importId))
  return outcomes
}

describe('an import whose slice is over', () => {
  test.each([
    ['a plain file', 'text/csv', long, false],
    ['a compressed file', 'application/gzip', gzipSync(long), false],
    ['a dry run', 'text/csv', long, true],
  ] as const)(
    'is released while another app waits, and goes on from its position: %s',
    async (_, type, file, dryRun) => {
      const reference = await openApp(workshop, users)
      const whole = await queueFile(workshop, reference, file, type, dryRun)
      expect(await run(reference, whole)).toBe('completed')
      const importId = await queueFile(workshop, appId, file, type, dryRun)
      const outcomes = await runInSlices(importId)
      expect(outcomes.slice(0, -1)).toEqual(Array.from({ length: outcomes.length - 1 }, () => 'released'))
      expect(outcomes.length).toBeGreaterThan(3)

      const [sliced, expected] = [await resultOf(workshop, appId, importId), await resultOf(workshop, reference, whole)]
      const { rows_total, rows_applied, rows_failed, types } = expected.view
      expect(sliced.view).toMatchObject({ state: 'completed', rows_total, rows_applied, rows_failed, types })
      expect(sliced.errorFile).toEqual(expected.errorFile)
      expect(await profilesOf(workshop, appId)).toEqual(await profilesOf(workshop, reference))
    },
  )

  test('uses up no try, however often it is released', async () => {
    const importId = await queueFile(workshop, appId, long + rows.repeat(5))
    await queueFile(workshop, otherId, small)
    await dispatchAndWait()
    for (let slice = 0; slice < 7; slice++) {
      expect(await run(appId, importId)).toBe('released')
      const { tries, retry_at } = await workshop.database.db
        .selectFrom('imports')
        .select(['tries', 'retry_at'])
        .where('import_id', '=', importId)
        .executeTakeFirstOrThrow()
      expect([tries, retry_at]).toEqual([0, null])
    }
  })

  test('goes on without a release while nobody else waits: not even other imports of its own app', async () => {
    const importId = await queueFile(workshop, appId, long)
    await queueFile(workshop, appId, small)
    await queueFile(workshop, appId, small, 'text/csv', true)
    await dispatchAndWait()
    expect(await run(appId, importId)).toBe('completed')
  })

  test('goes on beside an import that was dispatched a moment ago: a free worker claims that one', async () => {
    const importId = await queueFile(workshop, appId, long)
    await queueFile(workshop, otherId, small)
    await takeTurns(workshop.context)
    // However long the file takes here.
    await sql`update imports set dispatched_at = now() + interval '1 min' where app_id = ${otherId}`.execute(
      workshop.database.db,
    )
    expect(await run(appId, importId)).toBe('completed')
  })

  test('keeps its app: neither a later import nor an earlier one that comes then runs before its end', async () => {
    const importId = await queueFile(workshop, appId, long)
    const later = await queueFile(workshop, appId, small)
    await queueFile(workshop, otherId, small)
    await dispatchAndWait()
    expect(await run(appId, importId)).toBe('released')
    await sql`update imports set line_number = default where import_id = ${importId}`.execute(workshop.database.db)
    expect(await claimImport(workshop.context, { appId, importId: later })).toBeUndefined()
    expect(await takeTurns(workshop.context, appId)).toMatchObject([{ importId }])
    await cancelImport(workshop.database.db, importId, appId)
    expect(await takeTurns(workshop.context, appId)).toMatchObject([{ importId: later }])
  })
})

describe('a dry run beside an import of its app', () => {
  test('is released as soon as another app waits, whatever its slice', async () => {
    const patient = { ...workshop.context, settings: { ...workshop.context.settings, IMPORT_SLICE: 3_600_000 } }
    const dryRun = await queueFile(workshop, appId, long, 'text/csv', true)
    await claim(workshop, appId, await queueFile(workshop, appId, long))
    await queueFile(workshop, otherId, small)
    await dispatchAndWait()
    const claimed = await claim(workshop, appId, dryRun)
    expect((await runImport(patient, claimed, never)).outcome).toBe('released')
  })

  test('does not begin while another app waits', async () => {
    const dryRun = await queueFile(workshop, appId, small, 'text/csv', true)
    await claim(workshop, appId, await queueFile(workshop, appId, long))
    const other = await queueFile(workshop, otherId, long)
    await dispatchAndWait()
    expect((await claimNext(workshop.context))?.importId).toBe(other)
    expect((await claimNext(workshop.context))?.importId).toBe(dryRun)
  })
})

describe('of the imports that wait for a worker', () => {
  const sizes = { small: 1_000, large: 900_000_000 }
  /** Queues an import of a new app, of a file that is said to have so many bytes. */
  async function queueOf(bytes: number, app?: number): Promise<string> {
    const importId = await queueFile(workshop, app ?? (await openApp(workshop, users)), small)
    await workshop.database.db
      .updateTable('imports')
      .set({ stored_size: bytes })
      .where('import_id', '=', importId)
      .execute()
    return importId
  }
  const fair = () => ({ ...workshop.context, settings: { ...workshop.context.settings, IMPORT_SLICE: 30_000 } })
  const nextId = async () => (await claimNext(fair()))?.importId

  test('a small one goes before any number of large ones that came before it', async () => {
    for (let app = 0; app < 20; app++) await queueOf(sizes.large)
    const newcomer = await queueOf(sizes.small)
    await dispatchAndWait()
    expect(await nextId()).toBe(newcomer)
  })

  test('one of an app that has used slots lately comes after those of apps that have not', async () => {
    const large = await queueOf(sizes.large, appId)
    await sql`insert into import_slot_time values (${appId}, 30, now())`.execute(workshop.database.db)
    const others = [await queueOf(sizes.large), await queueOf(sizes.large)]
    await dispatchAndWait()
    expect([await nextId(), await nextId()].toSorted()).toEqual(others.toSorted())
    expect(await nextId()).toBe(large)
  })

  test('an app that uploads one small file after the other gets no more than its part', async () => {
    const large = await queueOf(sizes.large)
    const first = await queueOf(sizes.small, appId)
    await dispatchAndWait()
    expect(await nextId()).toBe(first)
    // Its small imports have taken up a slice altogether, and a bit.
    await sql`insert into import_slot_time values (${appId}, 31, now())`.execute(workshop.database.db)
    await cancelImport(workshop.database.db, first, appId)
    await queueOf(sizes.small, appId)
    await dispatchAndWait()
    expect(await nextId()).toBe(large)
  })

  test('one that waits for long goes before newcomers, whatever its size', async () => {
    const large = await queueOf(sizes.large)
    await sql`update imports set queued_at = now() - interval '5 h'`.execute(workshop.database.db)
    await queueOf(5_000_000)
    await dispatchAndWait()
    expect(await nextId()).toBe(large)
  })

  test('what a claim has used is noted, counts less with time, and never as more than three slices', async () => {
    const noted = async () => {
      const { rows } = await sql<{ seconds: number }>`
        select seconds from import_slot_time where app_id = ${appId}`.execute(workshop.database.db)
      return rows[0]?.seconds ?? 0
    }
    await run(appId, await queueFile(workshop, appId, small))
    expect(await noted()).toBeGreaterThan(0)
    expect(await noted()).toBeLessThanOrEqual(0.003)
  })

  test('one that is not next any more does not keep the others from being claimed', async () => {
    const [first, second] = [await queueOf(sizes.small, appId), await queueOf(sizes.large)]
    await dispatchAndWait()
    // An earlier import of its app, whose upload is noticed only now.
    const earlier = await queueOf(sizes.large, appId)
    await sql`update imports set line_number = default where import_id = ${first}`.execute(workshop.database.db)
    expect(await nextId()).toBe(second)
    expect(await nextId()).toBeUndefined()
    expect(await dispatchAndWait()).toEqual([earlier])
    // It is dispatched again as soon as it is next.
    await cancelImport(workshop.database.db, earlier, appId)
    expect(await dispatchAndWait()).toEqual([first])
  })

  test('autoscaling counts those that can run now: at most one import and one dry run of each app', async () => {
    const count = async () => {
      const { rows } = await sql<{ runnable: number }>`select runnable_imports() as runnable`.execute(
        workshop.database.db,
      )
      expect((await importBacklog(workshop.database.db)).runnable).toBe(rows[0]?.runnable)
      return rows[0]?.runnable
    }
    const set = async (importId: string, change: { retry_at?: Date; state?: 'awaiting_upload' }) =>
      await workshop.database.db.updateTable('imports').set(change).where('import_id', '=', importId).execute()
    await claim(workshop, appId, await queueFile(workshop, appId, long))
    for (let time = 0; time < 3; time++) await queueFile(workshop, appId, small)
    expect(await count()).toBe(1)
    await queueFile(workshop, appId, small, 'text/csv', true)
    expect(await count()).toBe(2)
    const postponed = await queueFile(workshop, otherId, small)
    await queueFile(workshop, otherId, small)
    expect(await count()).toBe(3)
    await set(postponed, { retry_at: new Date(Date.now() + 50_000) })
    expect(await count()).toBe(2)
    const awaited = await queueFile(workshop, await openApp(workshop), small)
    expect(await count()).toBe(3)
    await set(awaited, { state: 'awaiting_upload' })
    expect(await count()).toBe(2)
  })
})
