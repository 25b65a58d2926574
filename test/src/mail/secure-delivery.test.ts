import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import { dueMails, enqueueMails, type Mailer, mailerSettings, openMailer } from '@sluice/mail'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { makeCertificate } from '../environment/certificate.ts'
import { openTestDatabase } from '../environment/database.ts'
import { type MailProtection, type MailServer, startMailServer } from '../environment/mail-server.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { clientSecret, startTokenEndpoint, type TokenEndpoint } from './token-endpoint.ts'

// Mails wait, and are not lost, while TLS or the login at the mail server fails. No secret is sent in plain text, or
// gets into an error.
let folder: string
let certificate: { certificate: string; key: string }
let stranger: { certificate: string; key: string }
const database = openBeforeEach(openTestDatabase)
let appId: number

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-mail-'))
  certificate = await makeCertificate(folder, 'mail')
  stranger = await makeCertificate(folder, 'stranger')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

beforeEach(async () => {
  appId = (await createApp(database.db, { name: 'Shop', email: 'ann@example.com' })).appId
})

const password = 'p@ss word'

/** Starts a mail server that is stopped at the end of the test. By default, it accepts logins with `password`. */
async function startServer(protection: Partial<MailProtection>): Promise<MailServer> {
  const accepts: MailProtection['accepts'] = (login) => login.password === password
  const server = await startMailServer({ protection: { tls: 'implicit', certificate, accepts, ...protection } })
  onTestFinished(() => server.close())
  return server
}

/** Opens a mailer with settings as in the environment of a process. */
function mailerWith(environment: Record<string, string>): Mailer {
  const sender = { MAIL_FROM: 'Sluice <no-reply@sluice.test>' }
  const mailer = openMailer(database.db, readSettings({ ...sender, ...environment }, mailerSettings))
  onTestFinished(() => mailer.close())
  return mailer
}

/** Enqueues a mail, and sends what is due. Returns the outcome. */
async function send(mailer: Mailer) {
  const content = { subject: 'Hello', text: 'text', html: '<p>html</p>' }
  await database.db.transaction().execute((tx) => enqueueMails(tx, appId, `import:${crypto.randomUUID()}`, content))
  return await sendAgain(mailer)
}

/** Sends the waiting mail as if its time had come. */
async function sendAgain(mailer: Mailer) {
  await database.db
    .updateTable('mails')
    .where('state', '=', 'waiting')
    .set({ next_attempt_at: new Date(0) })
    .execute()
  const [mail, ...others] = await dueMails(database.db, 10)
  if (mail === undefined || others.length > 0) throw new Error('one mail should wait')
  return await mailer.send(mail)
}

const login = `no-reply:${encodeURIComponent(password)}`

const schemes = [
  ['smtps', 'implicit'],
  ['smtp', 'starttls'],
] as const

// second-day.md §7, Mail.
describe('TLS with the mail server', () => {
  test.each(schemes)('%s: (%s) protects the login and the mail', async (scheme, tls) => {
    const server = await startServer({ tls })
    const url = `${scheme}://${login}@127.0.0.1:${server.port}`
    const mailer = mailerWith({ SMTP_URL: url, SMTP_CA_FILE: certificate.certificate })
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
    expect(server.received).toMatchObject([{ to: 'ann@example.com', login: 'PLAIN', isSecure: true }])
  })

  test.each(schemes)('%s: (%s) a mail waits while the certificate is of an unknown authority', async (scheme, tls) => {
    const server = await startServer({ tls })
    const url = `${scheme}://${login}@127.0.0.1:${server.port}`
    const error = expect.stringMatching(/^no TLS with the mail server: self-signed certificate/)
    expect(await send(mailerWith({ SMTP_URL: url }))).toMatchObject({ outcome: 'postponed', error })
    const otherAuthority = mailerWith({ SMTP_URL: url, SMTP_CA_FILE: stranger.certificate })
    expect(await sendAgain(otherAuthority)).toMatchObject({ outcome: 'postponed', error })
    expect(server.logins).toEqual([])
    const corrected = mailerWith({ SMTP_URL: url, SMTP_CA_FILE: certificate.certificate })
    expect(await sendAgain(corrected)).toEqual({ outcome: 'sent' })
  })

  test('a certificate of another name is refused', async () => {
    const server = await startServer({})
    const url = `smtps://${login}@localhost:${server.port}`
    const mailer = mailerWith({ SMTP_URL: url, SMTP_CA_FILE: certificate.certificate })
    const error = expect.stringMatching(/^no TLS with the mail server: Hostname\/IP does not match/)
    expect(await send(mailer)).toMatchObject({ outcome: 'postponed', error })
    expect(server.logins).toEqual([])
  })

  test('with requireTLS, nothing is sent to a server that offers no TLS', async () => {
    const server = await startServer({ tls: 'none' })
    const mailer = mailerWith({ SMTP_URL: `smtp://${login}@127.0.0.1:${server.port}?requireTLS=true` })
    expect(await send(mailer)).toMatchObject({ outcome: 'postponed' })
    expect(server.logins).toEqual([])
  })

  test('a process does not start with a file of authorities that is missing', () => {
    expect(() => mailerWith({ SMTP_URL: 'smtps://mail', SMTP_CA_FILE: join(folder, 'missing') })).toThrow('ENOENT')
  })
})

test('a mail waits while its password is refused, and the error does not repeat it', async () => {
  const server = await startServer({})
  const wrong = mailerWith({
    SMTP_URL: `smtps://no-reply:hunter2@127.0.0.1:${server.port}`,
    SMTP_CA_FILE: certificate.certificate,
  })
  const refused = await send(wrong)
  const error = expect.stringMatching(/^no login at the mail server: .*535/)
  expect(refused).toMatchObject({ outcome: 'postponed', error })
  expect(JSON.stringify(refused)).not.toContain('hunter2')
  const right = { SMTP_URL: `smtps://${login}@127.0.0.1:${server.port}`, SMTP_CA_FILE: certificate.certificate }
  expect(await sendAgain(mailerWith(right))).toEqual({ outcome: 'sent' })
})

describe('a login by OAuth 2.0', () => {
  let endpoint: TokenEndpoint

  beforeEach(() => {
    // The provider says at each start that its keys and its memory are for tests only.
    for (const level of ['info', 'warn'] as const) vi.spyOn(console, level).mockImplementation(() => {})
    return () => vi.restoreAllMocks()
  })

  async function startEndpoint(lifetimeSeconds: number): Promise<void> {
    endpoint = await startTokenEndpoint(lifetimeSeconds)
    onTestFinished(() => endpoint.close())
  }

  /** Starts a mail server whose senders log in with access tokens. Returns it with the settings for it. */
  async function startTokenServer(tls: 'implicit' | 'starttls' | 'none' = 'implicit') {
    const server = await startServer({ tls, accepts: ({ accessToken = '' }) => endpoint.isValid(accessToken) })
    const environment = {
      SMTP_URL: `${tls === 'implicit' ? 'smtps' : 'smtp'}://sender@127.0.0.1:${server.port}`,
      SMTP_CA_FILE: certificate.certificate,
      SMTP_OAUTH2_TOKEN_URL: endpoint.url,
      SMTP_OAUTH2_CLIENT_ID: 'sluice',
      SMTP_OAUTH2_CLIENT_SECRET: clientSecret,
    }
    return { server, environment }
  }

  const received = { to: 'ann@example.com', login: 'XOAUTH2', isSecure: true }

  test('uses one access token for several connections, until it expires or is refused', async () => {
    await startEndpoint(3600)
    const { server, environment } = await startTokenServer()
    const mailer = mailerWith({ ...environment, SMTP_OAUTH2_REFRESH_TOKEN: await endpoint.grantAccess() })
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
    server.disconnect()
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
    expect(endpoint.requests()).toBe(1)
    expect(server.logins.map(({ username, method }) => [username, method])).toEqual([
      ['sender', 'XOAUTH2'],
      ['sender', 'XOAUTH2'],
    ])
    // The mail server refuses the token, which by its own time is valid.
    await endpoint.endAccessTokens()
    server.disconnect()
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
    expect(endpoint.requests()).toBe(2)
    expect(server.received).toMatchObject([received, received, received])
  })

  test('requests another access token before the last one expires', async () => {
    await startEndpoint(9) // within the margin, in which no token is used again
    const { server, environment } = await startTokenServer('starttls')
    const mailer = mailerWith({ ...environment, SMTP_OAUTH2_REFRESH_TOKEN: await endpoint.grantAccess() })
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
    server.disconnect()
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
    expect(endpoint.requests()).toBe(2)
    expect(server.logins).toHaveLength(2)
  })

  test('works without a refresh token: the client requests tokens for itself', async () => {
    await startEndpoint(3600)
    const { server, environment } = await startTokenServer()
    expect(await send(mailerWith(environment))).toEqual({ outcome: 'sent' })
    expect(server.received).toMatchObject([received])
  })

  test('reads its secrets from files', async () => {
    await startEndpoint(3600)
    const { environment } = await startTokenServer()
    const files = { SMTP_OAUTH2_CLIENT_SECRET: clientSecret, SMTP_OAUTH2_REFRESH_TOKEN: await endpoint.grantAccess() }
    for (const [name, secret] of Object.entries(files)) await writeFile(join(folder, name), `${secret}\n`)
    const paths = Object.keys(files).map((name) => [`${name}_FILE`, join(folder, name)])
    const mailer = mailerWith({ ...environment, SMTP_OAUTH2_CLIENT_SECRET: '', ...Object.fromEntries(paths) })
    expect(await send(mailer)).toEqual({ outcome: 'sent' })
  })

  test('a mail waits while the refresh token is refused, and the error has the reason and no secret', async () => {
    await startEndpoint(3600)
    const { server, environment } = await startTokenServer()
    const refreshToken = await endpoint.grantAccess()
    await endpoint.revoke(refreshToken)
    const refused = await send(mailerWith({ ...environment, SMTP_OAUTH2_REFRESH_TOKEN: refreshToken }))
    const error =
      'no login at the mail server: the token endpoint answered 400: invalid_grant: grant request is invalid'
    expect(refused).toEqual({ outcome: 'postponed', attempt: 1, error })
    expect(server.logins).toEqual([])
    const granted = { ...environment, SMTP_OAUTH2_REFRESH_TOKEN: await endpoint.grantAccess() }
    expect(await sendAgain(mailerWith(granted))).toEqual({ outcome: 'sent' })
  })

  test('a mail waits while the mail server refuses every access token', async () => {
    await startEndpoint(3600)
    const { environment } = await startTokenServer()
    const deaf = await startServer({ accepts: () => false })
    const mailer = mailerWith({ ...environment, SMTP_URL: `smtps://sender@127.0.0.1:${deaf.port}` })
    const error = expect.stringMatching(/^no login at the mail server: /)
    const refused = await send(mailer)
    expect(refused).toMatchObject({ outcome: 'postponed', error })
    expect(endpoint.requests()).toBe(2)
    for (const { accessToken = 'unknown' } of deaf.logins) expect(JSON.stringify(refused)).not.toContain(accessToken)
    expect(await sendAgain(mailerWith(environment))).toEqual({ outcome: 'sent' })
  })

  test('a mail waits while the token endpoint is down', async () => {
    await startEndpoint(3600)
    const { environment } = await startTokenServer()
    const away = mailerWith({ ...environment, SMTP_OAUTH2_TOKEN_URL: 'http://127.0.0.1:1/token' })
    const error = expect.stringMatching(/^no login at the mail server: the token endpoint cannot be reached: /)
    expect(await send(away)).toMatchObject({ outcome: 'postponed', error })
    expect(await sendAgain(mailerWith(environment))).toEqual({ outcome: 'sent' })
  })

  test('sends no access token to a server that offers no TLS', async () => {
    await startEndpoint(3600)
    const { server, environment } = await startTokenServer('none')
    expect(await send(mailerWith(environment))).toMatchObject({ outcome: 'postponed' })
    expect(server.logins).toEqual([])
  })
})
