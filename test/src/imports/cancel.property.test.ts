import { sql } from '@sluice/database'
import { type Cancellation, cancelImport, dispatchNextInOrder, reportCancelled, runImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import { until } from '../environment/wait.ts'
import { applied, csvOf, errorLines, isValid, openAppWithUsers, type Row, rowsOf } from './cancelled-rows.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  resultOf,
} from './import-fixture.ts'
import { slowReads } from './slow-storage.ts'

// A cancelled import keeps what it applied, and applies nothing more. The following import is next in order at once.
const fixture = openBeforeAll(() =>
  openImportFixture({ BATCH_ROWS: String(batchRows), INFERENCE_ROWS: '5', IMPORT_ATTEMPTS: '3' }),
)
let appId: number
const noShutdown = new AbortController().signal
const batchRows = 5

beforeEach(async () => {
  await reportCancelled(fixture.context) // of the preceding test
  appId = await openAppWithUsers(fixture)
})

/** Runs the app's imports in order until none is left. Returns them in the order in which they began. */
async function runAllInOrder(context: ImportFixture['context']): Promise<string[]> {
  const begun: string[] = []
  for (;;) {
    const turns = await dispatchNextInOrder(context, appId)
    if (turns.length === 0) return begun
    for (const { importId } of turns) {
      begun.push(importId)
      await runImport(context, await claim(fixture, appId, importId), noShutdown)
    }
  }
}

const viewOf = async (importId: string) => (await resultOf(fixture, appId, importId)).view

async function mailsOf(importId: string) {
  return await fixture.database.db
    .selectFrom('mails')
    .select(['subject', 'text'])
    .where('app_id', '=', appId)
    .where('event', '=', `import:${importId}`)
    .execute()
}

// design.md §3, Dry run, cancel.
test('at any moment, a cancelled import has applied whole batches from its start, and the following imports keep their order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 2 }), fc.nat({ max: 70 }), fc.boolean(), async (target, moment, waits) => {
      appId = await openAppWithUsers(fixture)
      const files = ['a', 'b', 'c'].map(rowsOf)
      const ids: string[] = []
      for (const rows of files) ids.push(await queueFile(fixture, appId, csvOf(rows)))

      let reads = 0
      let cancelled: Promise<unknown> = Promise.resolve()
      const storage = slowReads(fixture.storage, 32, async () => {
        if (reads++ !== moment) return
        cancelled = cancelImport(fixture.database.db, { appId, importId: ids[target] ?? '' })
        if (waits) await cancelled
      })
      const begun = await runAllInOrder({ ...fixture.context, storage })
      await cancelled
      await runAllInOrder(fixture.context)
      await reportCancelled(fixture.context)

      expect(begun).toEqual(ids.filter((id) => begun.includes(id)))
      const kept: Row[] = []
      for (const [index, rows] of files.entries()) {
        const { view, errorFile } = await resultOf(fixture, appId, ids[index] ?? '')
        const done = rows.slice(0, view.rows_total)
        if (view.state === 'cancelled') expect(done.length % batchRows === 0 || done.length === rows.length).toBe(true)
        else expect(view).toMatchObject({ state: 'completed', rows_total: rows.length })
        expect(view.rows_applied).toBe(done.filter(isValid).length)
        expect(view.rows_failed).toBe(done.length - done.filter(isValid).length)
        expect(errorFile?.toString()).toBe(view.rows_failed === 0 ? undefined : errorLines(done))
        const [mail, ...more] = await mailsOf(view.import_id)
        expect(mail?.subject).toContain(`${view.state}: ${view.rows_applied} row`)
        expect(more).toEqual([])
        kept.push(...done)
      }
      expect(await profilesOf(fixture, appId)).toEqual(applied(kept))
    }),
    { numRuns: propertyRuns(40) },
  )
})

describe('an import that waits', () => {
  test('is cancelled: it never begins, and the following imports run', async () => {
    const [first, second] = [
      await queueFile(fixture, appId, csvOf(rowsOf('a'))),
      await queueFile(fixture, appId, csvOf(rowsOf('b'))),
    ]
    expect(await cancelImport(fixture.database.db, { appId, importId: first })).toEqual({
      outcome: 'cancelled',
      isNew: true,
    })
    expect(await runAllInOrder(fixture.context)).toEqual([second])
    expect(await viewOf(first)).toMatchObject({ state: 'cancelled', rows_total: 0, started_at: null })
    expect(await reportCancelled(fixture.context)).toHaveLength(1)
    const [mail] = await mailsOf(first)
    expect(mail?.text).toContain('Nothing was applied.')
  })

  test('is cancelled twice: the second time changes nothing, and there is one mail', async () => {
    const importId = await queueFile(fixture, appId, csvOf(rowsOf('a')))
    await cancelImport(fixture.database.db, { appId, importId })
    const before = await viewOf(importId)
    await reportCancelled(fixture.context)
    expect(await cancelImport(fixture.database.db, { appId, importId })).toEqual({ outcome: 'cancelled', isNew: false })
    expect(await reportCancelled(fixture.context)).toEqual([])
    expect(await viewOf(importId)).toEqual(before)
    expect(await mailsOf(importId)).toHaveLength(1)
  })
})

describe('cancelling has no effect', () => {
  test('on an import that has ended', async () => {
    const { view } = await importFile(fixture, appId, csvOf(rowsOf('a')))
    const outcome = { outcome: 'ended', state: 'completed' }
    expect(await cancelImport(fixture.database.db, { appId, importId: view.import_id })).toEqual(outcome)
    expect(await viewOf(view.import_id)).toEqual(view)
  })

  test('on the import of another app, an unknown ID, and a text that is no ID: the answer is the same', async () => {
    const importId = await queueFile(fixture, appId, csvOf(rowsOf('a')))
    const other = await openApp(fixture)
    const unknown = { outcome: 'unknown' }
    expect(await cancelImport(fixture.database.db, { appId: other, importId })).toEqual(unknown)
    expect(await cancelImport(fixture.database.db, { appId, importId: crypto.randomUUID() })).toEqual(unknown)
    expect(await cancelImport(fixture.database.db, { appId, importId: "' or true --" })).toEqual(unknown)
    expect((await viewOf(importId)).state).toBe('queued')
  })
})

describe('an import that is cancelled while its end is written has one end', () => {
  /** Expects that the import ended in `state`, with one mail that says so. */
  async function expectEnd(importId: string, state: 'completed' | 'cancelled'): Promise<void> {
    await reportCancelled(fixture.context)
    expect((await viewOf(importId)).state).toBe(state)
    const mails = await mailsOf(importId)
    expect(mails.map(({ subject }) => subject)).toEqual([expect.stringContaining(state)])
  }

  const untilOneWaits = () =>
    until('a statement to wait for the other writer', async () => {
      return (await lockWaits(fixture.database.db, 'transactionid')).length === 1
    })

  test('cancelled, if the cancellation is written first', async () => {
    const importId = await queueFile(fixture, appId, csvOf(rowsOf('a').slice(0, 4)))
    const isCancelling = Promise.withResolvers<void>()
    let cancellation: Promise<Cancellation> | undefined
    const storage: Storage = {
      ...fixture.storage,
      // All rows are committed, and the error file is about to be stored: the import's end is next.
      async writeStream(...args) {
        cancellation = fixture.database.db.transaction().execute(async (tx) => {
          const answer = await cancelImport(tx, { appId, importId })
          isCancelling.resolve()
          await untilOneWaits()
          return answer
        })
        await isCancelling.promise
        return await fixture.storage.writeStream(...args)
      },
    }
    const outcome = await runImport({ ...fixture.context, storage }, await claim(fixture, appId, importId), noShutdown)
    expect(outcome).toEqual({ outcome: 'cancelled' })
    expect(await cancellation).toEqual({ outcome: 'cancelled', isNew: true })
    await expectEnd(importId, 'cancelled')
  })

  test('completed, if its end is written first', async () => {
    const { db } = fixture.database
    const importId = await queueFile(fixture, appId, csvOf(rowsOf('a').slice(0, 4)))
    const claimed = await claim(fixture, appId, importId)
    // The end's transaction writes the state, then the mails: the lock makes it wait between the two.
    const { running, cancellation } = await db.transaction().execute(async (tx) => {
      await sql`lock table mails in exclusive mode`.execute(tx)
      const running = runImport(fixture.context, claimed, noShutdown)
      await until('the end to wait for the mails', async () => {
        return (await lockWaits(db)).some((statement) => statement.includes('insert into mails'))
      })
      const cancellation = cancelImport(db, { appId, importId })
      await untilOneWaits()
      return { running, cancellation }
    })
    expect(await running).toMatchObject({ outcome: 'completed' })
    expect(await cancellation).toEqual({ outcome: 'ended', state: 'completed' })
    await expectEnd(importId, 'completed')
  })
})

describe('a running import', () => {
  test('is cancelled: its worker, paused for any time, writes nothing after the following import', async () => {
    const [first, second] = [
      await queueFile(fixture, appId, csvOf(rowsOf('a'))),
      await queueFile(fixture, appId, csvOf(rowsOf('b'))),
    ]
    const stopped = Promise.withResolvers<void>()
    const resume = Promise.withResolvers<void>()
    let seen = 0
    const storage = slowReads(fixture.storage, 32, async () => {
      if (seen++ !== 14) return
      stopped.resolve()
      await resume.promise
    })
    const running = runImport({ ...fixture.context, storage }, await claim(fixture, appId, first), noShutdown)
    await stopped.promise
    expect(await cancelImport(fixture.database.db, { appId, importId: first })).toEqual({
      outcome: 'cancelled',
      isNew: true,
    })
    const cut = await viewOf(first)
    expect(await runAllInOrder(fixture.context)).toEqual([second])
    const after = await profilesOf(fixture, appId)

    resume.resolve()
    expect(await running).toEqual({ outcome: 'cancelled' })
    expect(await profilesOf(fixture, appId)).toEqual(after)
    expect(await viewOf(first)).toEqual(cut)
  })

  test('whose worker died is cancelled: the following import does not wait for the lease', async () => {
    const [first, second] = [
      await queueFile(fixture, appId, csvOf(rowsOf('a'))),
      await queueFile(fixture, appId, csvOf(rowsOf('b'))),
    ]
    await claim(fixture, appId, first) // and no worker runs it
    expect(await dispatchNextInOrder(fixture.context, appId)).toEqual([])
    await cancelImport(fixture.database.db, { appId, importId: first })
    expect(await runAllInOrder(fixture.context)).toEqual([second])
  })
})
