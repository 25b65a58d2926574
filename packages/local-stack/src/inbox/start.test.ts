import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import nodemailer from 'nodemailer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Mail } from './mail.ts'
import { openMailbox } from './mailbox.ts'
import { type RunningInbox, startInbox } from './start.ts'

let folder: string
let inbox: RunningInbox

const open = () => startInbox({ host: '127.0.0.1', httpPort: 0, smtpPort: 0, folder })

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-inbox-'))
  inbox = await open()
})

afterEach(async () => {
  await inbox.close()
  await rm(folder, { recursive: true })
})

// design.md §2, Inbox.
describe('mails', () => {
  test('are listed newest first, with UTF-8 intact', async () => {
    await send({ subject: 'Первый ✓', text: 'Grüße\n' })
    await send({ subject: 'second', text: 'b', to: ['x@example.com', 'y@example.com'] })
    const mails = await list()
    expect(mails.map(({ subject }) => subject)).toEqual(['second', 'Первый ✓'])
    expect(mails[0]?.to).toEqual(['x@example.com', 'y@example.com'])
    expect(mails[1]).toMatchObject({
      from: 'Sluice <no-reply@sluice.local>',
      text: 'Grüße\n',
      html: null,
      message_id: expect.stringMatching(/^<.+>$/),
      received_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
  })

  test('survive a restart', async () => {
    await send({ subject: 'kept' })
    await inbox.close()
    inbox = await open()
    await send({ subject: 'later' })
    expect((await list()).map(({ subject }) => subject)).toEqual(['later', 'kept'])
  })

  test('that are too large are refused, and the next mail is accepted', async () => {
    await expect(send({ subject: 'large', text: 'x'.repeat(3 * 1024 * 1024) })).rejects.toThrow('552')
    await send({ subject: 'small' })
    expect((await list()).map(({ subject }) => subject)).toEqual(['small'])
  })
})

describe('a mailbox', () => {
  const mail = { to: ['a@example.com'], from: '', text: '', html: null, message_id: null }

  test('keeps only the newest mails, up to its limits', async () => {
    const byCount = await openMailbox(join(folder, 'count'), { mails: 3, bytes: 1e6 })
    for (const subject of 'abcde') await byCount.add({ ...mail, subject })
    expect(byCount.list().map(({ subject }) => subject)).toEqual(['e', 'd', 'c'])
    expect(await readdir(join(folder, 'count'))).toHaveLength(3)

    const bySize = await openMailbox(join(folder, 'size'), { mails: 100, bytes: 5000 })
    for (const subject of 'abc') await bySize.add({ ...mail, subject, text: 'x'.repeat(2000) })
    expect(bySize.list().map(({ subject }) => subject)).toEqual(['c', 'b'])
  })

  test('keeps the order of mails that arrive at the same time', async () => {
    const mailbox = await openMailbox(join(folder, 'order'))
    const subjects = Array.from({ length: 50 }, (_, index) => String(index))
    await Promise.all(subjects.map((subject) => mailbox.add({ ...mail, subject })))
    const listed = mailbox.list().map(({ subject }) => subject)
    expect(listed).toEqual(subjects.toReversed())
    expect((await openMailbox(join(folder, 'order'))).list()).toEqual(mailbox.list())
  })
})

describe('the web pages', () => {
  const attack = '<script>alert(1)</script>'

  test('escape all text of a mail, and turn its web addresses into links', async () => {
    await send({ subject: attack, text: `${attack}\nFile: http://127.0.0.1:3000/error_files/abc.` })
    const id = (await list())[0]?.id
    for (const path of ['/', `/mails/${id}`]) {
      const { status, body } = await get(path)
      expect(status).toBe(200)
      expect(body).toContain('&lt;script&gt;')
      expect(body).not.toContain('<script')
    }
    const { body } = await get(`/mails/${id}`)
    expect(body).toContain('<a href="http://127.0.0.1:3000/error_files/abc" target="_blank"')
  })

  test('show the HTML of a mail only in a sandbox that runs and loads nothing', async () => {
    await send({ subject: 'html', html: `<p>Hello</p>${attack}<img src="http://example.com/x.png">` })
    const id = (await list())[0]?.id
    const page = await get(`/mails/${id}`)
    expect(page.body).toContain(`src="/mails/${id}/html" sandbox="allow-popups`)
    expect(page.body).not.toContain('Hello')
    expect(page.policy).toContain("default-src 'none'")
    const frame = await get(`/mails/${id}/html`)
    expect(frame.body).toContain('<p>Hello</p>')
    expect(frame.policy).toMatch(/^sandbox /)
    expect(frame.policy).toContain("default-src 'none'")
    expect(frame.policy).not.toContain('allow-scripts')
    expect(frame.policy).not.toContain('allow-same-origin')
  })

  test.each(['/mails/1', '/mails/1/html', '/mails/../x', '/mails/%2e', '/nothing'])('%s is not found', async (path) => {
    expect((await get(path)).status).toBe(404)
  })

  test.each([
    ['127.0.0.1:3003', 200],
    ['localhost', 200],
    ['[::1]:80', 200],
    ['evil.example', 403],
    ['127.0.0.1.evil.example:3003', 403],
    ['localhost@evil.example', 403],
  ])('a request for the host %s gets %d', async (host, status) => {
    expect((await get('/api/mails', host)).status).toBe(status)
  })

  test('are read-only', async () => {
    const answer = await fetch(`${inbox.url}/api/mails`, { method: 'DELETE' })
    expect(answer.status).toBe(405)
  })
})

async function send(mail: { subject: string; text?: string; html?: string; to?: string[] }): Promise<void> {
  const transport = nodemailer.createTransport(inbox.smtpUrl)
  await transport.sendMail({ from: 'Sluice <no-reply@sluice.local>', to: 'a@example.com', ...mail })
  transport.close()
}

async function list(): Promise<Mail[]> {
  const answer = await fetch(`${inbox.url}/api/mails`)
  const mails: Mail[] = JSON.parse(await answer.text())
  return mails
}

/** Sends a GET with a given Host header and an unnormalized path, which `fetch` does not permit. */
function get(path: string, host = '127.0.0.1'): Promise<{ status: number; policy: string; body: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(inbox.url)
    const sent = request({ hostname, port, path, headers: { host } }, async (answer) => {
      const chunks: Buffer[] = []
      for await (const chunk of answer) chunks.push(chunk)
      const policy = String(answer.headers['content-security-policy'])
      resolve({ status: answer.statusCode ?? 0, policy, body: Buffer.concat(chunks).toString() })
    })
    sent.on('error', reject)
    sent.end()
  })
}
