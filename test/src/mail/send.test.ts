import { createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { dueMails, enqueueMails, type Mailer, openMailer, openTransport, signInLink } from '@sluice/mail'
import { SMTPServer } from 'smtp-server'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { lockWaits, openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { listenOn } from '../environment/free-port.ts'
import { until } from '../environment/wait.ts'
import { content, enqueueOne } from './enqueue-one.ts'

// A mail is sent once per event and recipient, as far as SMTP allows, whatever the mail server does.
let database: TestDatabase
let appId: number
let mailer: Mailer
let settings: Parameters<typeof openMailer>[1]
let server: SMTPServer
let received: { to: string; source: string }[]
/** The server's refusals of the next recipients, in this order. If empty, the server accepts recipients. */
let refusals: { code: number; text: string }[]
/** How long the server waits before each of its answers, ms. */
let slowness: number

beforeEach(async () => {
  database = await openTestDatabase()
  appId = (await createApp(database.db, { name: 'Shop', email: 'ann@example.com' })).appId
  received = []
  refusals = []
  slowness = 0
  server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onConnect: (_session, answer) => void setTimeout(answer, slowness),
    onMailFrom: (_address, _session, answer) => void setTimeout(answer, slowness),
    onRcptTo(_address, _session, answer) {
      const refusal = refusals.shift()
      answer(refusal === undefined ? null : Object.assign(new Error(refusal.text), { responseCode: refusal.code }))
    },
    onData(stream, session, answer) {
      let source = ''
      stream.on('data', (part: Buffer) => {
        source += part.toString()
      })
      stream.on('end', () => {
        received.push({ to: session.envelope.rcptTo.map(({ address }) => address).join(), source })
        setTimeout(answer, slowness)
      })
    },
  })
  server.on('error', () => {})
  const port = await listenOn(server.server)
  settings = { SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'Sluice <no-reply@sluice.test>', MAILS_PER_HOUR: 1_000 }
  mailer = openMailer(database.db, settings)
  return async () => {
    mailer.close()
    await new Promise<void>((resolve) => server.close(() => resolve()))
    await database.close()
  }
})

async function enqueue(event = 'import:1') {
  return await database.db.transaction().execute((tx) => enqueueMails(tx, appId, event, content))
}

async function makeDue(): Promise<void> {
  await database.db
    .updateTable('mails')
    .set({ next_attempt_at: new Date(0) })
    .execute()
}

const messageIds = () => received.map(({ source }) => /^Message-ID: (.*)$/im.exec(source)?.[1]?.trim())

// design.md §4, Mails.
describe('the outbox', () => {
  test('every member of the app gets one mail of an event, however often it is enqueued', async () => {
    await database.db.insertInto('members').values({ app_id: appId, email: 'bob@example.com' }).execute()
    const mails = await enqueue()
    expect(await enqueue()).toEqual([])
    expect((await dueMails(database.db, 10)).toSorted()).toEqual(mails.toSorted())
    for (const mail of mails) expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
    expect(received.map(({ to }) => to).toSorted()).toEqual(['ann@example.com', 'bob@example.com'])
    expect(await dueMails(database.db, 10)).toEqual([])
  })

  test('a sent mail is not sent again, and only one of several processes sends it', async () => {
    const mail = await enqueueOne(database.db, appId)
    const outcomes = await Promise.all([mailer.send(mail), mailer.send(mail), mailer.send(mail)])
    expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['not due', 'not due', 'sent'])
    await makeDue()
    expect(await mailer.send(mail)).toEqual({ outcome: 'not due' })
    expect(received).toHaveLength(1)
  })

  test('a mail that was sent while Postgres broke the connection is not sent again', async () => {
    const mail = await enqueueOne(database.db, appId)
    const accept = server.onData
    let broken: Promise<void> | undefined
    server.onData = (stream, session, answer) =>
      accept.call(server, stream, session, (error) => {
        broken = database.db.transaction().execute(async (tx) => {
          await sql`select from mails for update`.execute(tx)
          answer(error)
          await until('the record of the mail', async () => (await lockWaits(database.db)).length === 1)
          await sql`
            select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'
          `.execute(database.db)
        })
      })
    expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
    await broken
    await makeDue()
    expect(await mailer.send(mail)).toEqual({ outcome: 'not due' })
    expect(received).toHaveLength(1)
  })

  test('a mail is enqueued with its event or not at all', async () => {
    const failing = database.db.transaction().execute(async (tx) => {
      await enqueueMails(tx, appId, 'import:2', content)
      throw new Error('the event did not happen')
    })
    await expect(failing).rejects.toThrow()
    expect(await dueMails(database.db, 10)).toEqual([])
  })
})

test('every mail says that a program sent it, so that no out-of-office program answers', async () => {
  for (const mail of await enqueue()) await mailer.send(mail)
  const transport = openTransport(settings)
  const link = signInLink({ url: 'https://dashboard.example.com/sign-in/x', minutes: 15 })
  await transport.deliver({ ...link, recipient: 'bob@example.com', id: crypto.randomUUID() })
  transport.close()
  const headers = received.map(({ source }) => source.split('\r\n\r\n', 1)[0] ?? '')
  const submitted = headers.map((header) => /^Auto-Submitted:.*$/m.exec(header)?.[0])
  expect(submitted).toEqual(['Auto-Submitted: auto-generated', 'Auto-Submitted: auto-generated'])
})

describe('the header of a mail', () => {
  /** Sends the mail of an event to all members. Returns the header of each mail, by recipient. */
  async function headersWith(dashboardUrl?: string): Promise<Map<string, string>> {
    const linking = openMailer(database.db, settings, { dashboardUrl })
    for (const mail of await enqueue()) await linking.send(mail)
    linking.close()
    return new Map(
      received.map(({ to, source }) => [to, source.replaceAll('\r\n ', ' ').split('\r\n\r\n', 1)[0] ?? '']),
    )
  }

  const link = (header = '') => /^List-Unsubscribe: <(.*)>$/m.exec(header)?.[1]

  test('has a link of the member’s own that ends the mails, also with one click', async () => {
    await database.db.insertInto('members').values({ app_id: appId, email: 'bob@example.com' }).execute()
    const headers = await headersWith('https://dashboard.example.com')
    const links = [link(headers.get('ann@example.com')), link(headers.get('bob@example.com'))]
    for (const each of links) {
      expect(each).toMatch(new RegExp(`^https://dashboard\\.example\\.com/unsubscribe/${appId}/[0-9a-f-]{36}$`))
    }
    expect(links[0]).not.toBe(links[1])
    expect(headers.get('ann@example.com')).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m)
  })

  test('promises no click over http', async () => {
    const header = (await headersWith('http://dashboard.test')).get('ann@example.com')
    expect(link(header)).toMatch(/^http:/)
    expect(header).not.toContain('One-Click')
  })

  test('has no link if the address of the dashboard is not known', async () => {
    expect(link((await headersWith()).get('ann@example.com'))).toBeUndefined()
  })
})

describe('a mail that the server does not accept', () => {
  test('for now (4xx) is tried again later, under the same Message-ID', async () => {
    const mail = await enqueueOne(database.db, appId)
    refusals = [{ code: 451, text: 'try later' }]
    expect(await mailer.send(mail)).toMatchObject({ outcome: 'postponed', attempt: 1 })
    expect(await mailer.send(mail)).toEqual({ outcome: 'not due' })
    await makeDue()
    expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
    expect(messageIds()).toEqual([`<${mail.mailId}@sluice.test>`])
  })

  test('until its hour is over gives the next hour no further mail', async () => {
    const others = ['bob', 'carol'].map((name) => ({ app_id: appId, email: `${name}@example.com` }))
    await database.db.insertInto('members').values(others).execute()
    const [slow, next, last] = await enqueue()
    if (slow === undefined || next === undefined || last === undefined) throw new Error('no mails')
    const hourly = openMailer(database.db, { ...settings, MAILS_PER_HOUR: 1 })
    const refused = Promise.withResolvers<() => void>()
    const acceptRecipient = server.onRcptTo
    server.onRcptTo = (_address, _session, answer) => {
      server.onRcptTo = acceptRecipient
      refused.resolve(() => answer(Object.assign(new Error('try later'), { responseCode: 451 })))
    }
    const sending = hourly.send(slow)
    const refuse = await refused.promise
    await sql`update mail_counts set began_at = now() - interval '1 hour'`.execute(database.db)
    expect(await hourly.send(next)).toEqual({ outcome: 'sent' })
    refuse()
    expect(await sending).toMatchObject({ outcome: 'postponed' })
    expect(await hourly.send(last)).toEqual({ outcome: 'not due' })
    hourly.close()
  })

  test('for good (5xx) has failed, and the reason is kept', async () => {
    const mail = await enqueueOne(database.db, appId)
    refusals = [{ code: 550, text: 'no such user' }]
    expect(await mailer.send(mail)).toMatchObject({ outcome: 'failed' })
    await makeDue()
    expect(await dueMails(database.db, 10)).toEqual([])
    const row = await database.db
      .selectFrom('mails')
      .select(['state', 'last_error', 'failed_at'])
      .executeTakeFirstOrThrow()
    expect(row).toMatchObject({ state: 'failed', failed_at: expect.any(Date) })
    expect(row.last_error).toContain('no such user')
  })

  test('because it is down waits', async () => {
    const unreachable = openMailer(database.db, { ...settings, SMTP_URL: 'smtp://127.0.0.1:1' })
    const mail = await enqueueOne(database.db, appId)
    expect(await unreachable.send(mail)).toMatchObject({ outcome: 'postponed' })
    unreachable.close()
    await makeDue()
    expect(await dueMails(database.db, 10)).toEqual([mail])
  })

  test('within the time limit of a whole dialogue, though each answer is in time, is postponed before anything is accepted', async () => {
    const mail = await enqueueOne(database.db, appId)
    const hasty = openMailer(database.db, settings, { longestDialogueMs: 500 })
    onTestFinished(() => hasty.close())
    slowness = 300
    expect(await hasty.send(mail)).toMatchObject({
      outcome: 'postponed',
      error: 'the mail server took longer than 0.5 s in all',
    })
    await until('the end of every connection', () => server.connections.size === 0)
    expect(received).toEqual([])
    slowness = 0
    await makeDue()
    expect(await mailer.send(mail)).toEqual({ outcome: 'sent' })
    expect(received).toHaveLength(1)
  })

  test('for hours waits however often it was tried, and has failed after five days', async () => {
    const unreachable = openMailer(database.db, { ...settings, SMTP_URL: 'smtp://127.0.0.1:1' })
    onTestFinished(() => unreachable.close())
    const mail = await enqueueOne(database.db, appId)
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
    await database.db
      .updateTable('mails')
      .set({ attempt: 100, created_at: daysAgo(4) })
      .execute()
    expect(await unreachable.send(mail)).toMatchObject({ outcome: 'postponed', attempt: 101 })
    await database.db
      .updateTable('mails')
      .set({ created_at: daysAgo(6) })
      .execute()
    await makeDue()
    expect(await unreachable.send(mail)).toMatchObject({ outcome: 'failed' })
  })
})
