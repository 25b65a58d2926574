import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { readStackInfo } from '@sluice/local-stack'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { linesUntilReady, start } from './start.fixture.ts'

let home: string

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-start-'))
})

afterEach(() => rm(home, { recursive: true }))

// design.md §2, npm start.
test('npm start prints the addresses and ready, refuses a second start, and ends cleanly on Ctrl-C', async () => {
  const first = start(home)
  const lines = await linesUntilReady(first)
  const info = await readStackInfo(home)
  expect(lines).toContain(`API         ${info?.api}`)
  expect(lines.find((line) => line.startsWith('Metrics'))).toContain(
    `${new URL(info?.metrics.api?.[0] ?? '').port} (api)`,
  )
  expect((await fetch(info?.metrics.worker?.[0] ?? '')).status).toBe(200)
  expect((await fetch(info?.api ?? '')).url).toBe(`${info?.api}/docs`)

  const second = start(home)
  const said = text(second.stderr ?? process.stdin)
  expect(await once(second, 'exit')).toEqual([1, null])
  const addresses = `API ${info?.api}, dashboard ${info?.dashboard}, storage ${info?.storage}`
  expect(await said).toBe(`Sluice already runs on ${home} (process ${first.pid}): ${addresses}\n`)

  first.kill('SIGINT')
  expect(await once(first, 'exit')).toEqual([0, null])
  const left = await readdir(home)
  expect(left).not.toContain('stack.json')
})

test('an invalid setting is named on stderr, and the exit code is 1', async () => {
  const stack = start(home, { API_PORT: 'x' })
  const said = text(stack.stderr ?? process.stdin)
  expect(await once(stack, 'exit')).toEqual([1, null])
  expect(await said).toBe('API_PORT must be a whole number from 0 to 65535\n')
})
