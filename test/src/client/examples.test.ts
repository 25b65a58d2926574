import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Sluice } from '@sluice/client'
import { chromium } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { expect, inject, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { endChild, hasProgram, killAtExit, nodeEnvironment, runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openApp } from '../stack/client.ts'

// The programs of examples/, as somebody runs them who has copied them.
const root = join(import.meta.dirname, '../../..')
const example = (path: string) => join(root, 'examples', path)
const hasPython = await hasProgram('python3')
const executablePath = inject('chromium')

const stack = openBeforeAll(openSharedStack)

const settings = (token: string, more: Record<string, string> = {}) => ({
  ...nodeEnvironment,
  SLUICE_API: stack.api,
  SLUICE_TOKEN: token,
  ...more,
})

/** Starts a server of examples/ on a free port. `lines` gets what it prints. */
async function startServer(path: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [example(path)], {
    env: { ...env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  killAtExit(child)
  const lines: string[] = []
  const output = createInterface({ input: child.stdout })
  output.on('line', (line) => lines.push(line))
  await Promise.race([once(output, 'line'), once(child, 'exit')])
  const port = /listening on port (\d+)/.exec(lines[0] ?? '')?.[1]
  expect(port, 'the server listens').toBeDefined()
  return { url: `http://127.0.0.1:${port}`, lines, [Symbol.asyncDispose]: () => endChild(child) }
}

test('the web shop records orders of known and of new customers, and goes on after an invalid one', async () => {
  const { token } = await openApp(stack, ['c-1'])
  const order = (customer: string, total: string) => JSON.stringify({ customer, total, at: '2026-03-01T18:30:00Z' })
  const input = `${order('c-1', '59.90')}\n${order('c-2', 'free')}\n${order('c-3', '7')}\n`
  const { code, output } = await runProgram(process.execPath, [example('web-shop/orders.mjs')], {
    env: settings(token),
    input,
  })
  expect([code, output]).toEqual([1, expect.stringMatching(/^\{"customer":"c-2".*: .*last_order_total.*\n$/)])
  const { profiles } = await new Sluice({ api: stack.api, token }).user('c-3')
  expect(profiles).toEqual({
    last_order_at: { type: 'datetime', value: '2026-03-01 18:30:00.000' },
    last_order_total: { type: 'decimal', value: 7 },
  })
})

test.skipIf(!hasPython)(
  'the nightly import applies the newest file once, keeps its errors, and is held if broken',
  async () => {
    const { token } = await openApp(stack, ['a', 'b'])
    await using folder = await openScratch('sluice-example-')
    const nightly = async () => {
      const env = { ...settings(token), PYTHONPATH: join(root, 'packages/python-client'), PYTHONDONTWRITEBYTECODE: '1' }
      return await runProgram('python3', [example('nightly-import/nightly.py'), folder.path], { env })
    }
    expect(await nightly()).toMatchObject({ code: 1, output: expect.stringContaining('has no .csv or .csv.gz file') })

    const sluice = new Sluice({ api: stack.api, token })
    await sluice.registerKeys({ zip: 'string' })
    const rows = Array.from({ length: 30 }, (_, row) => `${row % 2 ? 'a' : 'b'},0${row}`)
    await writeFile(join(folder.path, '2026-03-01.csv'), ['user_id,zip', ...rows, 'nobody,1', ''].join('\n'))
    expect(await nightly()).toMatchObject({ code: 2, output: expect.stringContaining('30 rows applied') })
    expect(await readFile(join(folder.path, '2026-03-01.csv.errors'), 'utf8')).toContain('unregistered user,nobody')
    expect(await nightly()).toMatchObject({ code: 2 })

    await writeFile(join(folder.path, '2026-03-02.csv'), 'user_id,zip\na,#N/A\nb,#N/A\n')
    expect(await nightly()).toMatchObject({ code: 3, output: expect.stringContaining('held') })
    const states = (await Array.fromAsync(sluice.imports())).map(({ state }) => state)
    expect(states).toEqual(['held', 'completed'])
  },
)

test('the webhook receiver prints the event of an import, and refuses what the service has not signed', async () => {
  const { token } = await openApp(stack)
  const secret = `whsec_${randomBytes(24).toString('base64')}`
  await using server = await startServer('webhook-receiver/receiver.mjs', settings(token, { WEBHOOK_SECRET: secret }))
  const send = async (signature: string, id = 'msg_1') => {
    const now = new Date()
    const data = { file_name: 'people.csv', rows_applied: 2, rows_failed: 1 }
    const body = JSON.stringify({ type: 'import.completed', timestamp: now.toISOString(), data })
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signature === 'right' ? new Webhook(secret).sign(id, now, body) : signature,
    }
    return (await fetch(server.url, { method: 'POST', headers, body })).status
  }
  // The second one is a repetition.
  expect([await send('right'), await send('right'), await send('v1,d3Jvbmc=')]).toEqual([204, 204, 400])
  expect(server.lines.slice(1)).toEqual(['import.completed: people.csv, 2 applied, 1 failed'])
})

test.skipIf(executablePath === undefined)(
  'a colleague uploads a file on the page, which never sees the token',
  async () => {
    await using parts = new AsyncDisposableStack()
    const { token } = await openApp(stack, ['a'])
    const { path: built } = parts.use(await openScratch('sluice-example-'))
    const build = await runProgram(process.execPath, ['scripts/build-client.ts', built], { cwd: root })
    expect(build.code, build.output).toBe(0)
    const server = parts.use(await startServer('upload-page/server.mjs', settings(token, { CLIENT: built })))
    // The last option stands for the CORS rule of the bucket.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-web-security']
    const browser = await chromium.launch({ ...(executablePath !== undefined && { executablePath }), args })
    parts.defer(() => browser.close())
    const page = await browser.newPage()
    const headers: string[] = []
    page.on('request', (request) => headers.push(JSON.stringify(request.headers())))
    await page.goto(server.url)
    const file = { name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from('user_id,name\na,Ada\nnobody,B\n') }
    await page.setInputFiles('input', file)
    await page.getByText('1 rows applied, 1 rows not.').waitFor()
    expect(await page.getByRole('link', { name: 'See why' }).getAttribute('href')).toContain('/error_files/')
    expect(headers.join('\n')).not.toContain(token)
    for (const path of ['/v1/profile_keys', '/client/../server.mjs', '/client/..%2f..%2fetc/passwd'])
      expect((await fetch(server.url + path)).status, path).toBe(404)
  },
)
