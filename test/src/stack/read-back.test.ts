import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openSharedStack } from '../environment/shared-stack.ts'
import { type App, openApp } from './client.ts'
import type { StackAccess } from './running-stack.ts'

// The commands of clients that read data back: `sluice imports list --token` and `sluice exports create`.
let stack: StackAccess
let app: App
let folder: string
beforeAll(async () => {
  stack = await openSharedStack()
  folder = await mkdtemp(join(tmpdir(), 'sluice-read-back-'))
  app = await openApp(stack, ['alice', 'bob'])
}, 120_000)
afterAll(async () => {
  await stack.close()
  await rm(folder, { recursive: true, force: true })
})

async function importFile(text: string) {
  const file = join(folder, 'in.csv')
  await writeFile(file, text)
  return (await stack.sluice('import', file, '--token', app.token, '--wait')).json as { import_id: string }
}

// second-day.md §3, Command line; second-day.md §4, Command line.
test('a client lists its imports, imports a file with a key of its own, exports, and the export changes nothing', async () => {
  const first = await importFile('user_id,name,age\nalice,Alice,34\n')
  const second = await importFile('user_id,name\nbob,"B, ob"\nnobody,x\n')
  const listed = await stack.sluice('imports', '--token', app.token)
  expect(listed.json).toMatchObject([
    { import_id: second.import_id, rows_changed: 1, rows_failed: 1 },
    { import_id: first.import_id, rows_changed: 1 },
  ])
  expect((await stack.sluice('imports', '--token', app.token, '--state', 'failed')).json).toEqual([])
  const refused = await stack.sluice('imports', '--token', app.token, '--state', 'done')
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('state must be one of')])
  const keys = await stack.db
    .selectFrom('idempotency_keys')
    .select(['key', 'import_id'])
    .where('app_id', '=', app.appId)
    .execute()
  expect(keys.map((row) => row.import_id).sort()).toEqual([first.import_id, second.import_id].sort())

  const out = join(folder, 'out.csv.gz')
  const exported = await stack.sluice('export', '--token', app.token, '--out', out)
  expect(exported.json).toMatchObject({ state: 'completed', rows: 2, error: null })
  expect(exported.stderr).toContain('Downloading')
  expect(gunzipSync(await readFile(out)).toString()).toBe('user_id,age,name\nalice,34,Alice\nbob,,"B, ob"\n')
  await stack.sluice('export', '--token', app.token, '--out', out, '--keys', 'name')
  expect(gunzipSync(await readFile(out)).toString()).toBe('user_id,name\nalice,Alice\nbob,"B, ob"\n')
  const unknown = await stack.sluice('export', '--token', app.token, '--out', out, '--keys', 'nmae')
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('profile keys are not registered: nmae')])
  expect(await importFile(gunzipSync(await readFile(out)).toString())).toMatchObject({
    rows_changed: 0,
    rows_failed: 0,
  })
}, 120_000)

test('an export whose file cannot be written is wrong usage, and is not requested', async () => {
  const { appId, token } = await openApp(stack)
  const file = join(folder, 'a-file')
  await writeFile(file, '')
  for (const [out, message] of [
    [folder, `--out must name a file, and ${folder} is a folder`],
    [join(folder, 'missing', 'out.csv.gz'), `--out: there is no folder ${join(folder, 'missing')}`],
    [join(file, 'out.csv.gz'), `--out: there is no folder ${file}`],
    [join(folder, 'x'.repeat(250)), `--out: ${folder} cannot be written to: ENAMETOOLONG`],
  ] as const) {
    const refused = await stack.sluice('export', '--token', token, '--out', out)
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(message)])
  }
  const requested = stack.db.selectFrom('exports').select('export_id').where('app_id', '=', appId)
  expect(await requested.execute()).toEqual([])
})
