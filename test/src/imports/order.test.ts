import { sql } from '@sluice/database'
import {
  cancelImport,
  claimImport,
  dispatchNextInOrder,
  listImportsBefore,
  noticeUploads,
  requestImport,
  runImport,
  showDetails,
} from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import {
  claim,
  type ImportFixture,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  resultOf,
} from './import-fixture.ts'

// The order of an app's imports: which one is next, which ones wait, which ones expire (design.md §3 and §4).
let fixture: ImportFixture
let appId: number
const noShutdown = new AbortController().signal

beforeEach(async () => {
  fixture = await openImportFixture()
  appId = await openApp(fixture, ['u1'])
  return () => fixture.close()
})

const file = Buffer.from('user_id,a\nu1,1\n')
const request = {
  checksum: '6VkhpT2eVzkbUMqljvj/Fg==',
  byte_size: file.length,
  content_type: 'text/csv' as const,
  dry_run: false,
}

/** Sends a first request without uploading its file. */
async function awaitUpload(): Promise<string> {
  const { importId } = await requestImport(fixture.context, appId, request)
  return importId
}

async function upload(importId: string): Promise<void> {
  await fixture.storage.write(`apps/${appId}/imports/${importId}/upload`, file, 'text/csv')
}

/** Uploads the file of an import that awaits it, and has the import queued. */
async function uploadAndNotice(importId: string): Promise<void> {
  await upload(importId)
  await age(importId, 2)
  expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
}

/** Lets time pass for an import, by moving its times into the past. */
async function age(importId: string, seconds: number): Promise<void> {
  const columns = ['requested_at', 'queued_at', 'upload_expires_at', 'upload_check_at', 'retry_at', 'dispatched_at']
  const moved = columns.map(
    (column) => sql`${sql.ref(column)} = ${sql.ref(column)} - make_interval(secs => ${seconds})`,
  )
  const { rows } = await sql`
    update imports set ${sql.join(moved)} where import_id = ${importId} returning import_id
  `.execute(fixture.database.db)
  expect(rows).toHaveLength(1)
}

const dispatch = async () => (await dispatchNextInOrder(fixture.context)).map((next) => next.importId)
const state = async (importId: string) => (await resultOf(fixture, appId, importId)).view.state

describe('the next import of an app', () => {
  test('is the first in request order; apps do not wait for each other', async () => {
    const first = await queueFile(fixture, appId, file)
    await queueFile(fixture, appId, file)
    const other = await openApp(fixture)
    const ofOther = await queueFile(fixture, other, file)
    expect((await dispatch()).toSorted()).toEqual([first, ofOther].toSorted())
  })

  test('is dispatched once, and again if nobody claims it for 10 s: the job may be lost', async () => {
    const first = await queueFile(fixture, appId, file)
    expect(await dispatch()).toEqual([first])
    expect(await dispatch()).toEqual([])
    await age(first, 11)
    expect(await dispatch()).toEqual([first])
  })

  test('is none while an import of the app is active, and the following one when this has ended', async () => {
    const first = await queueFile(fixture, appId, file)
    const second = await queueFile(fixture, appId, file)
    const active = await claim(fixture, appId, first)
    expect(await dispatch()).toEqual([])
    expect(await claimImport(fixture.context, { appId, importId: second })).toBeUndefined()
    await runImport(fixture.context, active, noShutdown)
    expect(await dispatch()).toEqual([second])
  })

  test('is chosen separately for dry runs: they delay no import, and no import delays them', async () => {
    const dryRun = () => queueFile(fixture, appId, file, 'text/csv', true)
    const [firstDry, first] = [await dryRun(), await queueFile(fixture, appId, file)]
    const secondDry = await dryRun()
    expect((await dispatch()).toSorted()).toEqual([firstDry, first].toSorted())
    const active = await claim(fixture, appId, firstDry)
    expect(await claimImport(fixture.context, { appId, importId: secondDry })).toBeUndefined()
    await runImport(fixture.context, await claim(fixture, appId, first), noShutdown)
    await runImport(fixture.context, active, noShutdown)
    expect(await dispatch()).toEqual([secondDry])
  })

  test('is claimed alone: a claim that did not see another claim of the app fails', async () => {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, file)
    await age(later, 60)
    // The later import may overtake the earlier one, whose file arrives at that very moment.
    const racing = await fixture.database.db.transaction().execute(async (tx) => {
      expect(await claimImport({ ...fixture.context, db: tx }, { appId, importId: later })).toBeDefined()
      await fixture.database.db
        .updateTable('imports')
        .set({ state: 'queued', queued_at: new Date() })
        .where('import_id', '=', earlier)
        .execute()
      const claiming = claimImport(fixture.context, { appId, importId: earlier })
      await until('the claim to wait for the other one', async () => (await lockWaits(fixture.database.db)).length > 0)
      return { claiming }
    })
    expect(await racing.claiming).toBeUndefined()
    expect([await state(earlier), await state(later)]).toEqual(['queued', 'processing'])
  })

  test('is the only import that a repeated or late job can claim: not a running, an ended or a later one', async () => {
    const first = await queueFile(fixture, appId, file)
    const second = await queueFile(fixture, appId, file)
    expect(await claimImport(fixture.context, { appId, importId: second })).toBeUndefined()
    const active = await claim(fixture, appId, first)
    expect(await claimImport(fixture.context, { appId, importId: first })).toBeUndefined()
    await runImport(fixture.context, active, noShutdown)
    expect(await claimImport(fixture.context, { appId, importId: first })).toBeUndefined()
  })

  test('is claimed once, even if several workers claim it at the same moment', async () => {
    const importId = await queueFile(fixture, appId, file)
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimImport(fixture.context, { appId, importId })))
    expect(claims.filter((each) => each !== undefined)).toHaveLength(1)
  })

  test('is a later import once it has waited UPLOAD_ORDER_WAIT for the upload of an earlier one', async () => {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, file)
    expect(await dispatch()).toEqual([])
    await age(later, 31)
    expect(await dispatch()).toEqual([later])
    await runImport(fixture.context, await claim(fixture, appId, later), noShutdown)
    await upload(earlier)
    await noticeUploads(fixture.context)
    expect(await dispatch()).toEqual([earlier])
  })

  test('follows request order, even if files arrive in another order', async () => {
    const first = await awaitUpload()
    const second = await awaitUpload()
    await upload(second)
    await noticeUploads(fixture.context)
    expect(await dispatch()).toEqual([])
    await age(first, 2)
    await upload(first)
    await noticeUploads(fixture.context)
    expect(await dispatch()).toEqual([first])
  })

  test('is none while the first import waits for a retry', async () => {
    const first = await queueFile(fixture, appId, file)
    await queueFile(fixture, appId, file)
    await fixture.database.db
      .updateTable('imports')
      .set({ retry_at: new Date(Date.now() + 60_000) })
      .where('import_id', '=', first)
      .execute()
    expect(await dispatch()).toEqual([])
    await age(first, 61)
    expect(await dispatch()).toEqual([first])
  })
})

describe('an import that has committed a batch keeps its app until it ends', () => {
  const rows = Array.from({ length: 40 }, (_, row) => `u1,${row}`)
  const longFile = Buffer.from(`user_id,a\n${rows.join('\n')}\n`)

  /** Runs a claim until a batch is committed, and releases it like a worker that shuts down. */
  async function runOneBatch(importId: string, claimed = claim(fixture, appId, importId)): Promise<void> {
    const shutdown = new AbortController()
    const context = {
      ...fixture.context,
      settings: { ...fixture.context.settings, BATCH_ROWS: 1 },
      onBatch: () => shutdown.abort(),
    }
    expect(await runImport(context, await claimed, shutdown.signal)).toEqual({ outcome: 'interrupted' })
  }

  /** Returns an import that overtook an earlier one without an upload, and was released after a batch. */
  async function overtakeAndRelease(): Promise<{ earlier: string; later: string }> {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, longFile)
    await age(later, 31)
    await runOneBatch(later)
    return { earlier, later }
  }

  test('an earlier import that is uploaded then is not claimed between two batches', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await uploadAndNotice(earlier)
    expect(await claimImport(fixture.context, { appId, importId: earlier })).toBeUndefined()
    expect(await dispatch()).toEqual([later])
    await runImport(fixture.context, await claim(fixture, appId, later), noShutdown)
    expect(await dispatch()).toEqual([earlier])
    await runImport(fixture.context, await claim(fixture, appId, earlier), noShutdown)
    expect(await profilesOf(fixture, appId)).toEqual({ u1: { a: 1 } })
  })

  test('an earlier import that had expired and is uploaded late waits as well', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await age(earlier, 400)
    await noticeUploads(fixture.context)
    expect(await state(earlier)).toBe('expired')
    await upload(earlier)
    await age(earlier, 600)
    expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
    expect(await dispatch()).toEqual([later])
  })

  test('no import is claimed while it waits for another try', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await uploadAndNotice(earlier)
    const failing = { ...fixture.storage, read: () => Promise.reject(new Error('no answer')) }
    const postponed = await runImport(
      { ...fixture.context, storage: failing },
      await claim(fixture, appId, later),
      noShutdown,
    )
    expect(postponed).toEqual({ outcome: 'postponed' })
    expect(await dispatch()).toEqual([])
    await age(later, 61)
    expect(await dispatch()).toEqual([later])
  })

  test('pages say that the earlier import waits for it', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await uploadAndNotice(earlier)
    const { db } = fixture.database
    const waitOf = async (importId: string) => (await showDetails(db, 'http://api.test', appId, importId))?.wait
    expect(await waitOf(earlier)).toEqual({ for: 'order', importId: later, state: 'queued', preceding: 1 })
    expect(await waitOf(later)).toEqual({ for: 'worker' })
    const listed = await listImportsBefore(db, 'http://api.test', appId, { limit: 10 })
    expect(listed.map(({ view, place }) => [view.import_id, place])).toEqual([
      [later, 1],
      [earlier, 2],
    ])
  })

  test('an import that was released before its first batch lets an earlier one go first', async () => {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, longFile)
    await age(later, 31)
    const shutdown = AbortSignal.abort()
    expect(await runImport(fixture.context, await claim(fixture, appId, later), shutdown)).toEqual({
      outcome: 'interrupted',
    })
    await uploadAndNotice(earlier)
    expect(await dispatch()).toEqual([earlier])
  })

  test('it does not delay dry runs, and cancelling it lets the following import run', async () => {
    const { earlier, later } = await overtakeAndRelease()
    await uploadAndNotice(earlier)
    const dryRun = await queueFile(fixture, appId, file, 'text/csv', true)
    expect((await dispatch()).toSorted()).toEqual([later, dryRun].toSorted())
    await cancelImport(fixture.database.db, later, appId)
    expect(await dispatch()).toEqual([earlier])
  })

  test('a claim whose snapshot is older than its claim, batch and release is refused', async () => {
    const { db } = fixture.database
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, longFile)
    await age(later, 60)
    const claimOfLater = await db.startTransaction().execute()
    const claimed = await claim({ ...fixture, context: { ...fixture.context, db: claimOfLater } }, appId, later)
    await db
      .updateTable('imports')
      .set({ state: 'queued', queued_at: new Date() })
      .where('import_id', '=', earlier)
      .execute()
    const claimOfEarlier = await db.startTransaction().setIsolationLevel('repeatable read').execute()
    await sql`select from imports`.execute(claimOfEarlier) // settles the snapshot
    await claimOfLater.commit().execute()
    await runOneBatch(later, Promise.resolve(claimed))
    expect(await claimImport({ ...fixture.context, db: claimOfEarlier }, { appId, importId: earlier })).toBeUndefined()
    await claimOfEarlier.rollback().execute()
    expect(await dispatch()).toEqual([later])
  })
})

describe('uploads', () => {
  test('an import is queued when its file is there, under the ETag that it has then', async () => {
    const importId = await awaitUpload()
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 0, expired: 0 })
    await upload(importId)
    await age(importId, 2)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 1, expired: 0 })
    expect(await state(importId)).toBe('queued')
  })

  test('an import whose file never arrives expires a minute after its upload window, without a mail', async () => {
    const importId = await awaitUpload()
    await age(importId, 5 * 60 + 30)
    await noticeUploads(fixture.context)
    expect(await state(importId)).toBe('awaiting_upload')
    await age(importId, 31)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 0, expired: 1 })
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'expired', started_at: null })
    expect(await fixture.database.db.selectFrom('mails').selectAll().execute()).toEqual([])
  })

  test('a slow upload that began in time and ends after that is not lost', async () => {
    const importId = await awaitUpload()
    await age(importId, 400)
    await noticeUploads(fixture.context)
    expect(await state(importId)).toBe('expired')
    await upload(importId)
    await age(importId, 600)
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 1, expired: 0 })
    expect(await dispatch()).toEqual([importId])
    await runImport(fixture.context, await claim(fixture, appId, importId), noShutdown)
    expect(await state(importId)).toBe('completed')
  })

  test('an expired import delays no other import', async () => {
    const first = await awaitUpload()
    const second = await queueFile(fixture, appId, file)
    await age(first, 400)
    await noticeUploads(fixture.context)
    expect(await dispatch()).toEqual([second])
  })
})
