import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { receiveV2File, runImport } from '@sluice/imports'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { claim, openApp, openImportFixture, queueFile, resultOf } from './import-fixture.ts'
import { compactImports, sizeOfImports } from './table-size.ts'

// The cost of a file depends on its bytes, not on the width of its header or on cells without a column.
const fixture = openBeforeAll(openImportFixture)

/** Returns the CPU time of this process, which does everything but Postgres's part, ms. */
async function cpuTime(job: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await job()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

// design.md §3, Width of a file.
describe('a header of 25,908 columns above rows of one value', () => {
  const rows = 'u\n'.repeat(200_000)

  /** Imports a file in a separate database. */
  async function importWith(header: string): Promise<{ batches: number; cpu: number; imports: number }> {
    const own = await openImportFixture()
    onTestFinished(own.close)
    await compactImports(own.database.db)
    const appId = await openApp(own, ['u'])
    const importId = await queueFile(own, appId, gzipSync(`${header}\n${rows}`), 'application/gzip')
    const claimed = await claim(own, appId, importId)
    let batches = 0
    const context = { ...own.context, onBatch: () => void batches++ }
    const cpu = await cpuTime(() => runImport(context, claimed, new AbortController().signal))
    const { view } = await resultOf(own, appId, importId)
    expect(view).toMatchObject({ state: 'completed', rows_total: 200_000, rows_failed: 0, types: {} })
    return { batches, cpu, imports: await sizeOfImports(own.database.db) }
  }

  test('costs as many batches as a narrow header and about the same CPU time, and is written once', async () => {
    const names = Array.from({ length: 25_907 }, (_, index) => index.toString(36))
    const wideHeader = `user_id,${names.join(',')}`
    const narrow = await importWith('user_id,a')
    const wide = await importWith(wideHeader)
    expect(wide.batches).toBe(narrow.batches)
    expect(wide.cpu / narrow.cpu).toBeLessThan(5)
    // Postgres may keep what a row held before its update: two copies of the header, and some pages.
    expect(wide.imports - narrow.imports).toBeLessThan(3 * wideHeader.length)
  }, 300_000)
})

describe('an inspection of the first rows', () => {
  const gzip = { contentType: 'application/gzip', byteSize: undefined } as const
  const file = (row: string) => gzipSync(`user_id,zzz\n${row.repeat(Math.ceil((16 * 2 ** 20) / row.length))}`)

  async function inspect(content: Buffer): Promise<unknown> {
    const parts = (async function* () {
      yield content
    })()
    return await receiveV2File(
      { ...fixture.context, settings: { ...fixture.context.settings, API_UPLOAD_TIMEOUT: 60_000 } },
      await openApp(fixture),
      { ...gzip, content: parts },
    )
  }

  test('takes about as long for rows of a million empty cells as for rows of text', async () => {
    const plain = await cpuTime(() => inspect(file(`u1,${'x'.repeat(2 ** 20 - 10)}\n`)))
    const commas = await cpuTime(() => inspect(file(`u${','.repeat(1_048_500)}\n`)))
    expect(commas / plain).toBeLessThan(5)
  }, 300_000)

  test('fails as soon as more columns have values than the app has room for keys', async () => {
    const names = Array.from({ length: 20_000 }, (_, index) => index.toString(36))
    const first = `user_id,${names.join(',')}\nu${',1'.repeat(20_000)}\n`
    const rest = Array.from({ length: 900 }, () => `u,${randomBytes(1_000).toString('base64')}\n`)
    // A reader of the whole file would find out that it is cut off.
    const cutOff = gzipSync(first + rest.join('')).subarray(0, -100_000)
    expect(await inspect(cutOff)).toEqual({ refused: 'This app has exceeded the limit of enabled user profile(500)' })
  })
})

test('the log names no column of a file that is refused', async () => {
  const lines: { msg: string }[] = []
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line)) })
  const appId = await openApp(fixture)
  const importId = await queueFile(fixture, appId, 'user_id,jane,jane\nu,1,2\n')
  await runImport({ ...fixture.context, log }, await claim(fixture, appId, importId), new AbortController().signal)
  const { view } = await resultOf(fixture, appId, importId)
  expect(view.error).toBe('duplicate columns jane')
  expect(lines.map(({ msg }) => msg)).toContain('import failed: duplicate columns [1 names]')
})
