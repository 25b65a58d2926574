import { createApp, removeMember, sendMailsTo } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import { startInbox } from '@sluice/local-stack'
import { dueMails, enqueueMails, type Mailer, mailBacklog, nextMails, openMailer } from '@sluice/mail'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { startMailServer } from '../environment/mail-server.ts'
import { openScratch } from '../environment/scratch.ts'
import { content, enqueueOne } from './enqueue-one.ts'

// One app's mails neither delay another app's mails nor exceed the app's hourly limit.
let db: Database
let inbox: Awaited<ReturnType<typeof startInbox>>
beforeEach(async () => {
  const database = await openTestDatabase()
  db = database.db
  const scratch = await openScratch('sluice-outbox-')
  inbox = await startInbox({ folder: scratch.path, host: '127.0.0.1', httpPort: 0, smtpPort: 0 })
  return async () => {
    await inbox.close()
    await database.close()
    await scratch[Symbol.asyncDispose]()
  }
})

/** Creates an app with `members` members. */
async function openApp(members: number): Promise<number> {
  const { appId } = await createApp(db, { name: 'Shop', email: 'member-1@example.com' })
  await sql`
    insert into members (app_id, email)
    select ${appId}::integer, 'member-' || n || '@example.com' from generate_series(2, ${members}::integer) n
  `.execute(db)
  return appId
}

function openHourlyMailer(mailsPerHour: number, port = new URL(inbox.smtpUrl).port): Mailer {
  const address = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Sluice <no-reply@sluice.test>' }
  return openMailer(db, { ...address, MAILS_PER_HOUR: mailsPerHour })
}

async function waiting(appId: number): Promise<number> {
  const mails = db.selectFrom('mails').select('mail_id').where('app_id', '=', appId).where('state', '=', 'waiting')
  return (await mails.execute()).length
}

/** Lets the hour pass in which an app's mails were counted. */
async function letAnHourPass(appId: number): Promise<void> {
  await sql`update mail_counts set began_at = began_at - interval '1 hour' where app_id = ${appId}`.execute(db)
}

test('an app whose 11,000 members joined before the limit gets all mails of an event', async () => {
  const appId = await openApp(11_000)
  expect(await enqueueMails(db, appId, 'import:1', content)).toHaveLength(11_000)
  expect(await enqueueMails(db, appId, 'import:1', content)).toEqual([])
})

test('due mails alternate between apps: a mail does not wait for another app’s backlog', async () => {
  const [large, small] = [await openApp(400), await openApp(1)]
  for (let event = 1; event <= 12; event++) await enqueueMails(db, large, `import:${event}`, content)
  const [mail] = await enqueueMails(db, small, 'import:13', content)
  const due = await dueMails(db, 1_000)
  expect(due.slice(0, 2)).toContainEqual(mail)
  // The queue is first in, first out, so it must never hold many mails of one app.
  expect(due.length).toBeLessThanOrEqual(11)
  expect((await nextMails(db, large)).length).toBeLessThanOrEqual(10)
  expect(await nextMails(db, small)).toEqual([mail])
})

test('mails over an app’s hourly limit wait for the next hour; none is lost, and other apps do not wait', async () => {
  const [large, small] = [await openApp(7), await openApp(1)]
  const mails = await enqueueMails(db, large, 'import:1', content)
  const mailer = openHourlyMailer(3)
  const sendAll = async () => {
    for (const mail of mails) await mailer.send(mail)
    return await waiting(large)
  }
  expect(await sendAll()).toBe(4)
  expect(await dueMails(db, 10)).toEqual([])
  expect(await nextMails(db, large)).toEqual([])
  // A mail that waits for its hour is not overdue: it is no reason to check the mail server.
  expect(await mailBacklog(db)).toEqual({ waiting: 4, overdue: 0 })

  const other = await enqueueOne(db, small)
  expect(await dueMails(db, 10)).toEqual([other])
  expect(await mailer.send(other)).toEqual({ outcome: 'sent' })

  await sql`update mails set next_attempt_at = now() - interval '1 hour' where state = 'waiting'`.execute(db)
  await letAnHourPass(large)
  // It becomes overdue only then.
  expect((await mailBacklog(db)).overdue).toBeLessThan(600)
  // The clock of Postgres was set back: the hour counts as over, as if it had not been.
  await sql`update mail_counts set began_at = now() + interval '10 minutes' where app_id = ${large}`.execute(db)
  expect((await mailBacklog(db)).overdue).toBeGreaterThanOrEqual(3600)
  expect(await dueMails(db, 10)).toHaveLength(4)
  expect(await sendAll()).toBe(1)
  await letAnHourPass(large)
  expect(await sendAll()).toBe(0)
  mailer.close()
})

test('several processes that send at the same moment keep the hourly limit together', async () => {
  const appId = await openApp(20)
  const mails = await enqueueMails(db, appId, 'import:1', content)
  const mailers = [openHourlyMailer(5), openHourlyMailer(5)]
  await Promise.all(mails.map((mail, index) => mailers[index % 2]?.send(mail)))
  expect(await waiting(appId)).toBe(15)
  for (const mailer of mailers) mailer.close()
})

test('a try that the mail server refused does not count against the hour', async () => {
  const appId = await openApp(1)
  const mail = await enqueueOne(db, appId)
  const [unreachable, mailer] = [openHourlyMailer(1, '1'), openHourlyMailer(1)]
  expect(await unreachable.send(mail)).toMatchObject({ outcome: 'postponed' })
  await db
    .updateTable('mails')
    .set({ next_attempt_at: new Date(0) })
    .execute()
  expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
  for (const each of [unreachable, mailer]) each.close()
})

test('a waiting mail is dropped if its recipient has been removed, or has ended the mails; others get theirs', async () => {
  const appId = await openApp(3)
  const mails = await enqueueMails(db, appId, 'import:1', content)
  await removeMember(db, appId, 'member-1@example.com')
  await sendMailsTo(db, appId, { among: ['member-2@example.com'], chosen: [] })
  const mailer = openHourlyMailer(10)
  for (const mail of mails) await mailer.send(mail)
  mailer.close()
  const rows = await db.selectFrom('mails').select(['recipient', 'state']).execute()
  expect(rows).toEqual([{ recipient: 'member-3@example.com', state: 'sent' }])
  const counts = await db.selectFrom('mail_counts').select('mails').where('app_id', '=', appId).execute()
  expect(counts).toEqual([{ mails: 1 }])
})

test('a mail that waited for its hour for days is tried for hours before it fails', async () => {
  const appId = await openApp(1)
  const mail = await enqueueOne(db, appId)
  const unreachable = openHourlyMailer(100, '1')
  const outcomes: string[] = []
  for (let attempt = 1; attempt <= 12; attempt++) {
    await sql`update mails set next_attempt_at = now(), created_at = now() - interval '6 days'`.execute(db)
    outcomes.push((await unreachable.send(mail)).outcome)
  }
  unreachable.close()
  expect(outcomes).toEqual([...Array.from({ length: 11 }, () => 'postponed'), 'failed'])
})

test('a mail whose process dies in each attempt waits longer and longer, and has failed after five days', async () => {
  const appId = await openApp(1)
  const mail = await enqueueOne(db, appId)
  const mailer = openHourlyMailer(100)
  const server = await startMailServer()
  onTestFinished(() => server.close())
  const silent = openHourlyMailer(100, String(server.port))
  const died = (attempt: number, age: string) =>
    sql`update mails set attempt = ${attempt}, next_attempt_at = now(), last_error = null, created_at = now() - ${age}::interval`.execute(
      db,
    )
  // The claim decides when the mail is due again, if the server never confirms it.
  const { promise: received, resolve: receive } = Promise.withResolvers<void>()
  server.insteadOfAnswer = receive
  await died(9, '1 hour')
  const sending = silent.send(mail)
  await received
  const { rows } = await sql<{ minutes: number }>`
    select extract(epoch from next_attempt_at - now())::float8 / 60 as minutes from mails
  `.execute(db)
  expect(rows[0]?.minutes).toBeGreaterThan(40)
  server.disconnect()
  expect(await sending).toMatchObject({ outcome: 'postponed' })
  silent.close()
  await died(12, '5 days 3 hours')
  expect(await mailer.send(mail)).toMatchObject({ outcome: 'failed' })
  const row = await db.selectFrom('mails').select(['state', 'last_error']).executeTakeFirstOrThrow()
  expect(row).toEqual({ state: 'failed', last_error: expect.stringContaining('ended during each attempt') })
  await sql`update mails set state = 'waiting'`.execute(db)
  // A mail that no process has tried yet, because none ran for days, is sent.
  await died(0, '6 days')
  expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
  await mailer.close()
})
