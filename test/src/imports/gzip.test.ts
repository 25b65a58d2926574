import { gzipSync } from 'node:zlib'
import { runImport } from '@sluice/imports'
import { expect, test } from 'vitest'
import { claim, openApp, openImportFixture, profilesOf, queueFile, resultOf } from './import-fixture.ts'

const users = 100

/** Imports a compressed file in batches of ten rows. Returns what the app has afterwards. */
async function importGzip(file: Buffer, settings: Record<string, string> = {}) {
  const fixture = await openImportFixture({ BATCH_ROWS: '10', INFERENCE_ROWS: '10', ...settings })
  const appId = await openApp(
    fixture,
    Array.from({ length: users }, (_, user) => `u${user}`),
  )
  const importId = await queueFile(fixture, appId, file, 'application/gzip')
  await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
  const { view } = await resultOf(fixture, appId, importId)
  const profiles = await profilesOf(fixture, appId)
  const [mail] = await fixture.database.db.selectFrom('mails').selectAll().where('app_id', '=', appId).execute()
  await fixture.close()
  return { view, profiles, mail: mail?.text ?? '' }
}

const header = 'user_id,n,text\n'

/**
 * Returns the lines of the rows `from` up to but not including `to`. `n` is the row's number; `text` hardly compresses.
 */
function lines(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, index) => {
    const n = from + index
    const text = Array.from({ length: 20 }, (_, at) => ((n + 1) * (at + 7) * 2_654_435_761).toString(36)).join('')
    return `u${n % users},${n},${text.slice(0, 200)}\n`
  }).join('')
}

/** Returns the value of `n` of each user after this many rows. */
function valuesAfter(rows: number): Record<string, number | undefined> {
  const values: Record<string, number | undefined> = {}
  for (let user = 0; user < users; user++) values[`u${user}`] = undefined
  for (let n = 0; n < rows; n++) values[`u${n % users}`] = n
  return values
}

const valuesOf = (profiles: Awaited<ReturnType<typeof profilesOf>>) =>
  Object.fromEntries(Object.entries(profiles).map(([user, { n }]) => [user, n]))

// design.md §3, Gzip.
test('several gzip members are one file, even if they part a row or the header', async () => {
  const text = header + lines(0, 100)
  const members = [text.slice(0, 5), text.slice(5, 3_000), text.slice(3_000)].map((part) => gzipSync(part))
  const { view, profiles } = await importGzip(Buffer.concat(members))
  expect(view).toMatchObject({ state: 'completed', rows_total: 100, rows_applied: 100, error: null })
  expect(valuesOf(profiles)).toEqual(valuesAfter(100))
})

// design.md §3, Gzip.
test('a file that is damaged midway fails; the preceding batches stay applied, and the mail says how many rows', async () => {
  const damaged = gzipSync(lines(1_000, 2_000))
  // The checksum at the end of the last member is wrong.
  damaged.writeUInt8(damaged.readUInt8(damaged.length - 8) ^ 1, damaged.length - 8)
  const { view, profiles, mail } = await importGzip(Buffer.concat([gzipSync(header + lines(0, 1_000)), damaged]))
  expect(view).toMatchObject({ state: 'failed', error: 'file maybe corrupt' })
  expect(view.rows_applied).toBeGreaterThan(0)
  expect(view.rows_applied).toBeLessThan(2_000)
  expect(view.rows_applied % 10, 'rows of an unfinished batch').toBe(0)
  expect(valuesOf(profiles)).toEqual(valuesAfter(view.rows_applied))
  expect(mail).toContain(`stay applied: ${view.rows_applied.toLocaleString('en-US')}.`)
})

// design.md §3, Sizes.
test('a file that unpacks to more than UNCOMPRESSED_LIMIT fails, and a file of exactly that size does not', async () => {
  const text = header + lines(0, 100)
  const exact = await importGzip(gzipSync(text), { UNCOMPRESSED_LIMIT: String(text.length) })
  expect(exact.view).toMatchObject({ state: 'completed', rows_applied: 100 })
  const limit = text.length - 1
  const over = await importGzip(gzipSync(text), { UNCOMPRESSED_LIMIT: String(limit) })
  expect(over.view).toMatchObject({ state: 'failed', error: `uncompressed size over ${limit} bytes` })
  expect(over.mail).toContain(`uncompressed size over ${limit} bytes`)
})
