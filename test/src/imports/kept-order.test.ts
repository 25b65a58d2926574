import { sql } from '@sluice/database'
import { cancelImport, claimImport, findImports, noticeUploads, runImport, showDetails } from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { eachWithAppInOrder, smallFile } from './app-in-order.ts'
import { queueUpload } from './forced-states.ts'
import { claim } from './import-fixture.ts'

const app = eachWithAppInOrder()

// design.md §3, Request order.
describe('an import that has committed a batch keeps its app until it ends', () => {
  const rows = Array.from({ length: 40 }, (_, row) => `u1,${row}`)
  const longFile = Buffer.from(`user_id,a\n${rows.join('\n')}\n`)

  /** Runs a claim until a batch is committed, and releases it like a worker that shuts down. */
  async function runOneBatch(importId: string, claimed = app.claim(importId)): Promise<void> {
    const shutdown = new AbortController()
    const context = {
      ...app.context,
      settings: { ...app.context.settings, BATCH_ROWS: 1 },
      onBatch: () => shutdown.abort(),
    }
    expect(await runImport(context, await claimed, shutdown.signal)).toEqual({ outcome: 'interrupted' })
  }

  /**
   * Returns an earlier import without an upload, and a later import that overtook it and was released after a batch.
   */
  async function overtakeAndRelease(): Promise<{ earlier: string; later: string }> {
    const earlier = await app.awaitUpload()
    const later = await app.queue(longFile)
    await app.age(later, 31)
    await runOneBatch(later)
    return { earlier, later }
  }

  test('an earlier import that is uploaded then is not claimed between two batches', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await app.uploadAndNotice(earlier)
    expect(await app.tryToClaim(earlier)).toBeUndefined()
    expect(await app.dispatch()).toEqual([later])
    await app.run(later)
    expect(await app.dispatch()).toEqual([earlier])
    await app.run(earlier)
    expect(await app.profiles()).toEqual({ u1: { a: 1 } })
  })

  test('an earlier import that had expired and is uploaded late waits as well', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await app.age(earlier, 400)
    await noticeUploads(app.context)
    expect(await app.state(earlier)).toBe('expired')
    await app.upload(earlier)
    await app.age(earlier, 600)
    expect(await noticeUploads(app.context)).toMatchObject({ queued: 1 })
    expect(await app.dispatch()).toEqual([later])
  })

  test('no import is claimed while it waits for another try', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await app.uploadAndNotice(earlier)
    const failing = { ...app.storage, read: () => Promise.reject(new Error('no answer')) }
    const postponed = await app.run(later, { storage: failing })
    expect(postponed).toEqual({ outcome: 'postponed' })
    expect(await app.dispatch()).toEqual([])
    await app.age(later, 61)
    expect(await app.dispatch()).toEqual([later])
  })

  test('pages say that the earlier import waits for it', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await app.uploadAndNotice(earlier)
    const { db } = app.fixture.database
    const waitOf = async (importId: string) => (await showDetails(db, 'http://api.test', app.appId, importId))?.wait
    expect(await waitOf(earlier)).toEqual({ for: 'order', importId: later, state: 'queued', preceding: 1 })
    expect(await waitOf(later)).toEqual({ for: 'worker' })
    const listed = await findImports(db, 'http://api.test', { appId: app.appId }, { limit: 10 })
    expect(Object.fromEntries(listed.imports.map(({ view, place }) => [view.import_id, place]))).toEqual({
      [later]: 1,
      [earlier]: 2,
    })
  })

  test('an import that was released before its first batch lets an earlier one go first', async () => {
    const earlier = await app.awaitUpload()
    const later = await app.queue(longFile)
    await app.age(later, 31)
    const shutdown = AbortSignal.abort()
    expect(await runImport(app.context, await app.claim(later), shutdown)).toEqual({
      outcome: 'interrupted',
    })
    await app.uploadAndNotice(earlier)
    expect(await app.dispatch()).toEqual([earlier])
  })

  test('it does not delay dry runs, and cancelling it lets the following import run', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await app.uploadAndNotice(earlier)
    const dryRun = await app.queue(smallFile, 'text/csv', true)
    expect((await app.dispatch()).toSorted()).toEqual([later, dryRun].toSorted())
    await cancelImport(app.db, { appId: app.appId, importId: later })
    expect(await app.dispatch()).toEqual([earlier])
  })

  test('a claim whose snapshot is older than its claim, batch and release is refused', async () => {
    const { db } = app.fixture.database
    const earlier = await app.awaitUpload()
    const later = await app.queue(longFile)
    await app.age(later, 60)
    const claimOfLater = await db.startTransaction().execute()
    const claimed = await claim({ ...app.fixture, context: { ...app.context, db: claimOfLater } }, app.appId, later)
    await queueUpload(db, earlier)
    const claimOfEarlier = await db.startTransaction().setIsolationLevel('repeatable read').execute()
    await sql`select from imports`.execute(claimOfEarlier) // takes the snapshot
    await claimOfLater.commit().execute()
    await runOneBatch(later, Promise.resolve(claimed))
    expect(
      await claimImport({ ...app.context, db: claimOfEarlier }, { appId: app.appId, importId: earlier }),
    ).toBeUndefined()
    await claimOfEarlier.rollback().execute()
    expect(await app.dispatch()).toEqual([later])
  })
})
