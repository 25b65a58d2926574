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

// The life of imports in an app's line: who is next, who waits, who expires (design.md §3 and §4).
let fixture: ImportFixture
let appId: number
const never = new AbortController().signal

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

/** A first request whose file is not there yet. */
async function awaitUpload(): Promise<string> {
  const { importId } = await requestImport(fixture.context, appId, request)
  return importId
}

async function upload(importId: string): Promise<void> {
  await fixture.storage.write(`apps/${appId}/imports/${importId}/upload`, file, 'text/csv')
}

/** Uploads to an import that awaits it, and has it queued. */
async function uploadAndNotice(importId: string): Promise<void> {
  await upload(importId)
  await age(importId, 2)
  expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
}

/** Lets time pass for an import, by moving what it remembers into the past. */
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

const turns = async () => (await dispatchNextInOrder(fixture.context)).map((turn) => turn.importId)
const state = async (importId: string) => (await resultOf(fixture, appId, importId)).view.state

describe('whose turn it is', () => {
  test('the head of each app’s line; apps do not wait for each other', async () => {
    const first = await queueFile(fixture, appId, file)
    await queueFile(fixture, appId, file)
    const other = await openApp(fixture)
    const ofOther = await queueFile(fixture, other, file)
    expect((await turns()).toSorted()).toEqual([first, ofOther].toSorted())
  })

  test('it is told once, and again when nobody claims it for 10 s: the job may be lost', async () => {
    const first = await queueFile(fixture, appId, file)
    expect(await turns()).toEqual([first])
    expect(await turns()).toEqual([])
    await age(first, 11)
    expect(await turns()).toEqual([first])
  })

  test('nobody’s while an import of the app is active, and the next one’s when it has ended', async () => {
    const first = await queueFile(fixture, appId, file)
    const second = await queueFile(fixture, appId, file)
    const active = await claim(fixture, appId, first)
    expect(await turns()).toEqual([])
    expect(await claimImport(fixture.context, { appId, importId: second })).toBeUndefined()
    await runImport(fixture.context, active, never)
    expect(await turns()).toEqual([second])
  })

  test('dry runs have a line of their own: they hold up no import, and no import holds them up', async () => {
    const dryRun = () => queueFile(fixture, appId, file, 'text/csv', true)
    const [firstDry, first] = [await dryRun(), await queueFile(fixture, appId, file)]
    const secondDry = await dryRun()
    expect((await turns()).toSorted()).toEqual([firstDry, first].toSorted())
    const active = await claim(fixture, appId, firstDry)
    expect(await claimImport(fixture.context, { appId, importId: secondDry })).toBeUndefined()
    await runImport(fixture.context, await claim(fixture, appId, first), never)
    await runImport(fixture.context, active, never)
    expect(await turns()).toEqual([secondDry])
  })

  test('of two imports of an app that are claimed at the same moment, one is: the other claim did not see the first', async () => {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, file)
    await age(later, 60)
    // The later one may pass the earlier one by, whose file comes at that very moment.
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

  test('a doubled or late job claims nothing: not a running import, not one that has ended, not one out of turn', async () => {
    const first = await queueFile(fixture, appId, file)
    const second = await queueFile(fixture, appId, file)
    expect(await claimImport(fixture.context, { appId, importId: second })).toBeUndefined()
    const active = await claim(fixture, appId, first)
    expect(await claimImport(fixture.context, { appId, importId: first })).toBeUndefined()
    await runImport(fixture.context, active, never)
    expect(await claimImport(fixture.context, { appId, importId: first })).toBeUndefined()
  })

  test('of two claims of one app at the same moment one goes through', async () => {
    const importId = await queueFile(fixture, appId, file)
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimImport(fixture.context, { appId, importId })))
    expect(claims.filter((each) => each !== undefined)).toHaveLength(1)
  })

  test('an import waits for an earlier one that still uploads, for UPLOAD_ORDER_WAIT, then goes ahead', async () => {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, file)
    expect(await turns()).toEqual([])
    await age(later, 31)
    expect(await turns()).toEqual([later])
    await runImport(fixture.context, await claim(fixture, appId, later), never)
    await upload(earlier)
    await noticeUploads(fixture.context)
    expect(await turns()).toEqual([earlier])
  })

  test('files that arrive in the wrong order apply in request order', async () => {
    const first = await awaitUpload()
    const second = await awaitUpload()
    await upload(second)
    await noticeUploads(fixture.context)
    expect(await turns()).toEqual([])
    await age(first, 2)
    await upload(first)
    await noticeUploads(fixture.context)
    expect(await turns()).toEqual([first])
  })

  test('an import that waits for a retry holds up those behind it', async () => {
    const first = await queueFile(fixture, appId, file)
    await queueFile(fixture, appId, file)
    await fixture.database.db
      .updateTable('imports')
      .set({ retry_at: new Date(Date.now() + 60_000) })
      .where('import_id', '=', first)
      .execute()
    expect(await turns()).toEqual([])
    await age(first, 61)
    expect(await turns()).toEqual([first])
  })
})

describe('an import that has committed a batch keeps its app until it ends', () => {
  const rows = Array.from({ length: 40 }, (_, row) => `u1,${row}`)
  const longFile = Buffer.from(`user_id,a\n${rows.join('\n')}\n`)

  /** Runs a claim until a batch is committed, and releases it as a worker does that shuts down. */
  async function runOneBatch(importId: string, claimed = claim(fixture, appId, importId)): Promise<void> {
    const shutdown = new AbortController()
    const context = {
      ...fixture.context,
      settings: { ...fixture.context.settings, BATCH_ROWS: 1 },
      onBatch: () => shutdown.abort(),
    }
    expect(await runImport(context, await claimed, shutdown.signal)).toEqual({ outcome: 'interrupted' })
  }

  /** An import that passed an earlier one, whose upload it waited for in vain, and was released after a batch. */
  async function passedAndReleased(): Promise<{ earlier: string; later: string }> {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, longFile)
    await age(later, 31)
    await runOneBatch(later)
    return { earlier, later }
  }

  test('an earlier import whose upload comes then is not claimed between two batches', async () => {
    const { earlier, later } = await passedAndReleased()
    await uploadAndNotice(earlier)
    expect(await claimImport(fixture.context, { appId, importId: earlier })).toBeUndefined()
    expect(await turns()).toEqual([later])
    await runImport(fixture.context, await claim(fixture, appId, later), never)
    expect(await turns()).toEqual([earlier])
    await runImport(fixture.context, await claim(fixture, appId, earlier), never)
    expect(await profilesOf(fixture, appId)).toEqual({ u1: { a: 1 } })
  })

  test('an earlier import that had expired and is uploaded late waits as well', async () => {
    const { earlier, later } = await passedAndReleased()
    await age(earlier, 400)
    await noticeUploads(fixture.context)
    expect(await state(earlier)).toBe('expired')
    await upload(earlier)
    await age(earlier, 600)
    expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
    expect(await turns()).toEqual([later])
  })

  test('nobody is claimed while it waits for another try', async () => {
    const { earlier, later } = await passedAndReleased()
    await uploadAndNotice(earlier)
    const failing = { ...fixture.storage, read: () => Promise.reject(new Error('no answer')) }
    const postponed = await runImport(
      { ...fixture.context, storage: failing },
      await claim(fixture, appId, later),
      never,
    )
    expect(postponed).toEqual({ outcome: 'postponed' })
    expect(await turns()).toEqual([])
    await age(later, 61)
    expect(await turns()).toEqual([later])
  })

  test('pages say that the earlier import waits for it', async () => {
    const { earlier, later } = await passedAndReleased()
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

  test('one that was released before its first batch gives way to an earlier one', async () => {
    const earlier = await awaitUpload()
    const later = await queueFile(fixture, appId, longFile)
    await age(later, 31)
    const shutdown = AbortSignal.abort()
    expect(await runImport(fixture.context, await claim(fixture, appId, later), shutdown)).toEqual({
      outcome: 'interrupted',
    })
    await uploadAndNotice(earlier)
    expect(await turns()).toEqual([earlier])
  })

  test('it does not hold up dry runs, and cancelling it lets the next one go ahead', async () => {
    const { earlier, later } = await passedAndReleased()
    await uploadAndNotice(earlier)
    const dryRun = await queueFile(fixture, appId, file, 'text/csv', true)
    expect((await turns()).toSorted()).toEqual([later, dryRun].toSorted())
    await cancelImport(fixture.database.db, later, appId)
    expect(await turns()).toEqual([earlier])
  })

  test('a claim that saw neither its claim nor its batch nor its release is refused', async () => {
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
    await sql`select from imports`.execute(claimOfEarlier) // what it sees is settled here
    await claimOfLater.commit().execute()
    await runOneBatch(later, Promise.resolve(claimed))
    expect(await claimImport({ ...fixture.context, db: claimOfEarlier }, { appId, importId: earlier })).toBeUndefined()
    await claimOfEarlier.rollback().execute()
    expect(await turns()).toEqual([later])
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

  test('an import whose file never comes expires a minute after its window, without a mail', async () => {
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
    expect(await turns()).toEqual([importId])
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    expect(await state(importId)).toBe('completed')
  })

  test('an expired import holds up nobody', async () => {
    const first = await awaitUpload()
    const second = await queueFile(fixture, appId, file)
    await age(first, 400)
    await noticeUploads(fixture.context)
    expect(await turns()).toEqual([second])
  })
})
