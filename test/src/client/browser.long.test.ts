import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { expect, inject, test } from 'vitest'
import { runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { openSharedStack } from '../environment/shared-stack.ts'
import { openApp } from '../stack/client.ts'

// The built package in a page under the origin of the API, without a bundler.
const executablePath = inject('chromium')
const root = join(import.meta.dirname, '../../..')

test.skipIf(executablePath === undefined)(
  'a page imports a file that a browser holds, iterates over imports, and gets typed errors',
  async () => {
    await using parts = new AsyncDisposableStack()
    const stack = await openSharedStack()
    parts.defer(() => stack.close())
    const { token } = await openApp(stack, ['alice', 'bob'])
    const { path: built } = parts.use(await openScratch('sluice-client-browser-'))
    const build = await runProgram(process.execPath, ['scripts/build-client.ts', built], { cwd: root })
    expect(build.code, build.output).toBe(0)

    const browser = await chromium.launch({
      ...(executablePath !== undefined && { executablePath }),
      // The second option stands for the CORS rule of the bucket.
      args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-web-security'],
    })
    parts.defer(() => browser.close())
    const page = await browser.newPage()
    const problems: string[] = []
    page.on('pageerror', (error) => problems.push(error.message))
    await page.route(`${stack.api}/page/**`, async (route) => {
      const path = new URL(route.request().url()).pathname.slice('/page/'.length)
      if (path === '') return route.fulfill({ contentType: 'text/html', body: '<title>page</title>' })
      return route.fulfill({ contentType: 'text/javascript', body: await readFile(join(built, path), 'utf8') })
    })
    await page.goto(`${stack.api}/page/`)

    const result = await page.evaluate<Record<string, unknown>>(`(async () => {
      const { Sluice, ForbiddenError } = await import('/page/client/src/index.js')
      const sluice = new Sluice({ api: location.origin, token: ${JSON.stringify(token)} })
      const text = 'user_id,name\\nalice,Alice\\nbob,' + 'x'.repeat(200) + '\\n'
      const phases = []
      const view = await sluice.import(new File([text], 'page.csv'), { onProgress: ({ phase }) => phases.push(phase) })
      const states = []
      for await (const { state } of sluice.imports()) states.push(state)
      const stranger = new Sluice({ api: location.origin, token: 'slc_1_wrong' })
      const error = await stranger.keys().catch((refusal) => refusal)
      return { view, states, phases: [...new Set(phases)], isTyped: error instanceof ForbiddenError }
    })()`)
    expect(result).toMatchObject({
      view: { state: 'completed', file_name: 'page.csv', rows_applied: 2 },
      states: ['completed'],
      phases: ['checksum', 'upload', 'processing'],
      isTyped: true,
    })
    expect(problems).toEqual([])
  },
)
