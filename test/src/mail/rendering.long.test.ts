import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '@sluice/config'
import { startInbox } from '@sluice/local-stack'
import {
  deletionNotification,
  heldNotification,
  importNotification,
  invitation,
  mailSettings,
  openTransport,
  signInLink,
} from '@sluice/mail'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectAccessible, openBrowser, takePictures } from '../dashboard/browser.ts'
import { hostile } from '../dashboard/hostile.ts'
import { until } from '../environment/wait.ts'

const ended = {
  importId: '4c1d8f6e-0000-4000-8000-000000000000',
  appName: 'Corner shop',
  state: 'completed',
  dryRun: false,
  source: 'v3' as const,
  rowsTotal: 1_000_000,
  rowsApplied: 990_000,
  rowsFailed: 10_000,
  rowsChanged: 42_000,
  changes: { rows: { created: 0, changed: 42_000 }, values: { added: 1, changed: 41_999, removed: 0 }, keys: {} },
  error: undefined,
  errorFile: { url: `https://api.example.com/error_files/${'x'.repeat(80)}`, days: 7 },
  errorFileEndsBeforeRow: undefined,
  fileName: 'people.csv',
  errorCounts: {
    'age should be integer': 9_000,
    'user_id is unregistered user': 1_500,
    'too many values': 3,
    other: 2,
  },
  pageUrl: 'https://dashboard.example.com/apps/1/imports/4c1d8f6e-0000-4000-8000-000000000000',
  warnings: [{ key: 'zip', message: '212 of 1000 values begin with 0, which int does not keep' }],
} as const

const mails = {
  'sign-in': signInLink({ url: `https://dashboard.example.com/sign-in/${'x'.repeat(43)}`, minutes: 15 }),
  'import-completed': importNotification(ended),
  'import-cut': importNotification({ ...ended, errorFileEndsBeforeRow: 876_543 }),
  'import-failed': importNotification({ ...ended, state: 'failed', error: 'file maybe corrupt', errorFile: undefined }),
  'import-held': heldNotification({
    ...ended,
    reasons: ['changed_percent is 31.4, over 20', 'new_keys is 3, over 0'],
    until: new Date('2026-03-04T05:06:07Z'),
  }),
  'import-hostile': importNotification({
    ...ended,
    state: 'failed',
    error: hostile.repeat(5),
    appName: hostile,
    fileName: hostile,
    errorCounts: { [hostile]: 1 },
  }),
  invitation: invitation({
    email: 'bert@example.com',
    invitedBy: 'anna@example.com',
    appName: hostile,
    url: 'https://dashboard.example.com/invitations/1/x',
    days: 3,
  }),
  'deletion-completed': deletionNotification({ appName: 'Corner shop', day: '2026-12-07', usersDeleted: 12_345 }),
}

describe.skipIf(inject('chromium') === undefined)('in a mail program,', () => {
  let browser: Browser
  let folder: string
  let inbox: Awaited<ReturnType<typeof startInbox>>
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-mails-'))
    inbox = await startInbox({ folder, host: '127.0.0.1', httpPort: 0, smtpPort: 0 })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await inbox.close()
    await rm(folder, { recursive: true })
  })

  test.each(Object.entries(mails))(
    'the mail %s loads nothing, runs nothing, fits a phone, and shows all of its text',
    async (name, content) => {
      const transport = openTransport(
        readSettings({ SMTP_URL: inbox.smtpUrl, MAIL_FROM: 'Sluice <a@example.com>' }, mailSettings),
      )
      const recipient = `${name}@example.com`
      await transport.deliver({ ...content, recipient, id: crypto.randomUUID() })
      transport.close()
      const received = await until('the mail', async () => {
        const all: { to: string[]; subject: string; html: string; text: string }[] = JSON.parse(
          await (await fetch(`${inbox.url}/api/mails`)).text(),
        )
        return all.find(({ to }) => to.includes(recipient))
      })
      expect(received.subject).toBe(content.subject)

      const context = await browser.newContext({ viewport: { width: 800, height: 600 } })
      const page = await context.newPage()
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      await page.setContent(received.html)
      await expectAccessible(page)
      await takePictures(page, `mail-${name}`)
      expect(requests).toEqual([])
      expect(await page.title()).toBe(content.subject.replace(/\s+/g, ' ').trim())
      expect(await page.locator('img, script, iframe, form').count()).toBe(0)

      // The HTML may have a column or a button instead of the text's colon.
      const words = (text: string) => text.replace(/[\s:]+/g, ' ').trim()
      const shown = words(await page.locator('body').innerText())
      for (const line of content.text.split('\n').filter((line) => !line.startsWith('http'))) {
        expect(shown).toContain(words(line))
      }
      // Some mail programs drop style sheets and styles.
      const unstyled = received.html.replaceAll(/<style>[\s\S]*?<\/style>| style="[^"]*"/g, '')
      await page.setContent(unstyled)
      const plain = words(await page.locator('body').innerText())
      for (const line of content.text.split('\n').filter((line) => !line.startsWith('http'))) {
        expect(plain).toContain(words(line))
      }
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      await page.setContent(received.html)
      expect(await page.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))).toEqual(
        content.text.match(/^http\S+/gm) ?? [],
      )
      await context.close()
    },
  )
})
