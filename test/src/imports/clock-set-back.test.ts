import { type Database, sql } from '@sluice/database'
import {
  cancelImport,
  claimImport,
  dispatchNextInOrder,
  noticeUploads,
  reportCancelled,
  requestImport,
} from '@sluice/imports'
import { dueMails, enqueueMails } from '@sluice/mail'
import { addEndpoint, dueDeliveries, enqueueEvent, openDeliverer } from '@sluice/webhooks'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { claim, openApp, openImportFixture, queueFile } from './import-fixture.ts'

// Postgres's clock is set back by a day, for instance by a failover: every stored time then lies a day too far ahead.
const fixture = openBeforeEach(() => openImportFixture({ UPLOAD_ORDER_WAIT: '30s' }))
let db: Database
let appId: number
const file = 'user_id,a\nu1,1\n'

beforeEach(async () => {
  db = fixture.database.db
  appId = await openApp(fixture, ['u1'])
})

type StoredTime =
  | 'finished_at'
  | 'lease_until'
  | 'retry_at'
  | 'dispatched_at'
  | 'queued_at'
  | 'upload_check_at'
  | 'upload_expires_at'

/** Sets one of an import's times to `seconds` from now. */
async function setTime(importId: string, time: StoredTime, seconds: number): Promise<void> {
  const moved = sql<Date>`now() + make_interval(secs => ${seconds})`
  await db
    .updateTable('imports')
    .set({ [time]: moved })
    .where('import_id', '=', importId)
    .execute()
}

const day = 86_400
const dispatch = async () => (await dispatchNextInOrder(fixture.context)).map(({ importId }) => importId)

const request = {
  checksum: '6VkhpT2eVzkbUMqljvj/Fg==',
  byte_size: 1,
  content_type: 'text/csv',
  dry_run: false,
} as const

test('a worker that died is replaced, although its lease ends later than any lease can', async () => {
  const importId = await queueFile(fixture, appId, file)
  await claim(fixture, appId, importId)
  await setTime(importId, 'dispatched_at', -day)
  await setTime(importId, 'lease_until', 9)
  expect(await dispatch()).toEqual([])
  await setTime(importId, 'lease_until', day)
  expect(await dispatch()).toEqual([importId])
  expect(await claimImport(fixture.context, { appId, importId })).toMatchObject({ attempt: 2 })
})

test('an import that waits for a retry is dispatched', async () => {
  const importId = await queueFile(fixture, appId, file)
  await setTime(importId, 'retry_at', 60)
  expect(await dispatch()).toEqual([])
  await setTime(importId, 'retry_at', day)
  expect(await dispatch()).toEqual([importId])
})

test('an import whose job was lost is dispatched again', async () => {
  const importId = await queueFile(fixture, appId, file)
  expect(await dispatch()).toEqual([importId])
  expect(await dispatch()).toEqual([])
  await setTime(importId, 'dispatched_at', day)
  expect(await dispatch()).toEqual([importId])
})

test('an import stops waiting for an earlier import whose upload is missing', async () => {
  await requestImport(fixture.context, appId, request)
  const importId = await queueFile(fixture, appId, file)
  expect(await dispatch()).toEqual([])
  await setTime(importId, 'queued_at', day)
  expect(await dispatch()).toEqual([importId])
})

test('an upload is noticed, and an import whose upload never arrived expires', async () => {
  const uploaded = await requestImport(fixture.context, appId, request)
  const missing = await requestImport(fixture.context, appId, request)
  await fixture.storage.write(`apps/${appId}/imports/${uploaded.importId}/upload`, Buffer.from(file), 'text/csv')
  for (const { importId } of [uploaded, missing]) {
    await setTime(importId, 'upload_check_at', day)
    await setTime(importId, 'upload_expires_at', day)
  }
  expect(await noticeUploads(fixture.context)).toEqual({ queued: 1, expired: 1 })
})

test.each([
  // The times of the window's end and of the expiry, as the clock of now shows them, s.
  ['when the clock was set forward again', -2 * 60 * 60, 0],
  ['while the clock was behind', 4 * 60, -2 * 60 * 60],
])('an upload is noticed soon, although its import expired %s', async (_, windowEnd, expiry) => {
  const { importId } = await requestImport(fixture.context, appId, request)
  const check = async () => {
    await setTime(importId, 'upload_check_at', -1)
    return await noticeUploads(fixture.context)
  }
  await setTime(importId, 'upload_expires_at', -day)
  expect(await check()).toEqual({ queued: 0, expired: 1 })
  await setTime(importId, 'upload_expires_at', windowEnd)
  await setTime(importId, 'finished_at', expiry)
  expect(await check()).toEqual({ queued: 0, expired: 0 })
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from upload_check_at - now())::float8 as seconds from imports
  `.execute(db)
  expect(rows[0]?.seconds).toBeLessThan(60)
})

test('the report of a cancelled import is made, although the process that began it died', async () => {
  const importId = await queueFile(fixture, appId, file)
  await cancelImport(db, { appId, importId })
  await setTime(importId, 'lease_until', 9)
  expect(await reportCancelled(fixture.context)).toEqual([])
  await setTime(importId, 'lease_until', day)
  expect(await reportCancelled(fixture.context)).toHaveLength(1)
})

test('a mail is sent', async () => {
  const [mail] = await enqueueMails(db, appId, 'import:1', { subject: 's', text: 't', html: 'h' })
  const wait = async (seconds: number) => {
    await db
      .updateTable('mails')
      .set({ next_attempt_at: sql<Date>`now() + make_interval(secs => ${seconds})` })
      .execute()
    return await dueMails(db, 10)
  }
  expect(await wait(4_500)).toEqual([])
  expect(await wait(day)).toEqual([mail])
})

test('a webhook is sent, also if its process died during an attempt', async () => {
  const [url, rule] = ['https://10.0.0.1/', { allowsHttp: false, isAllowed: () => true }]
  await addEndpoint(db, { keys: [Buffer.alloc(32)], rule }, appId, { url })
  await enqueueEvent(db, appId, { type: 'import.completed', id: '1', timestamp: '', data: {} })
  const wait = async (seconds: number) => {
    const time = sql<Date>`now() + make_interval(secs => ${seconds})`
    await db.updateTable('webhook_deliveries').set({ next_attempt_at: time, lease_until: time }).execute()
    return await dueDeliveries(db, 10)
  }
  expect(await wait(20)).toEqual([])
  const [delivery] = await wait(day)
  const deliverer = openDeliverer(db, { ENCRYPTION_KEYS: [], WEBHOOK_ALLOW_HTTP: false })
  expect(await deliverer.deliver(delivery ?? { appId, deliveryId: '' })).toMatchObject({ outcome: 'postponed' })
})
