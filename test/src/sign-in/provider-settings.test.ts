import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createApp } from '@sluice/accounts'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openVisitor } from '../dashboard/visitor.ts'
import { openTestDatabase } from '../environment/database.ts'
import { freePort } from '../environment/free-port.ts'
import { openScratch } from '../environment/scratch.ts'
import { startApp } from '../faults/harness/app-process.ts'
import { startProvider } from './identity-provider.ts'
import { environmentOf, signInThere } from './provider-dashboard.ts'

test('a dashboard process signs people in as its settings say, with the client secret in a file', async () => {
  await using scratch = await openScratch('sluice-provider-')
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const provider = await startProvider(url)
  onTestFinished(() => provider.stop())
  const { OIDC_CLIENT_SECRET: secret = '', ...settings } = environmentOf(provider)
  await writeFile(join(scratch.path, 'secret'), `${secret}\n`)
  const env = {
    ...{ ...settings, OIDC_CLIENT_SECRET_FILE: join(scratch.path, 'secret'), SIGN_IN_MAIL: 'off' },
    ...{
      DASHBOARD_URL: url,
      DASHBOARD_PORT: String(port),
      API_URL: 'http://api.test',
      S3_GATEWAY_URL: 'http://s3.test',
    },
    ...{ S3_ENDPOINT: inject('s3Endpoint'), S3_BUCKET: 'test', S3_ACCESS_KEY_ID: 'test', S3_SECRET_ACCESS_KEY: 'test' },
    ...{ SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'no-reply@sluice.test', DATABASE_URL: database.url },
    ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  }
  const dashboard = await startApp({ app: 'dashboard', env, log: () => {} })
  onTestFinished(async () => {
    dashboard.kill('SIGTERM')
    expect(await dashboard.exited).toBe(0)
  })
  await createApp(database.db, { name: 'Shop', email: 'anna@example.com' })
  await provider.set({ accounts: { anna: { email: 'anna@example.com', email_verified: true } }, person: 'anna' })
  const browser = { atDashboard: openVisitor({ url }), atProvider: openVisitor({ url: provider.issuer }) }
  expect((await browser.atDashboard.get('/sign-in')).text).not.toContain('name="email"')
  expect((await signInThere(browser, provider.issuer)).status).toBe(303)
  expect((await browser.atDashboard.get('/apps')).text).toContain('Shop')
})
