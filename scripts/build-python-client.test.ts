import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unzipSync } from 'fflate'
import { expect, onTestFinished, test } from 'vitest'
import { buildWheel } from './build-python-client.ts'
import { pythonClient, withContract } from './python-types.ts'

test('the types of the Python client are those of the contract', () => {
  const text = readFileSync(pythonClient, 'utf8')
  expect(text === withContract(text), 'run: node scripts/python-types.ts --write').toBe(true)
})

test('two builds of the wheel are equal byte by byte, and contain the client with its types', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-wheel-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [first, second] = ['a', 'b'].map((name) => readFileSync(buildWheel(join(folder, name))))
  if (first === undefined || second === undefined) throw new Error('no wheel')
  expect(first.equals(second)).toBe(true)
  const files = unzipSync(first)
  const version = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')).version
  const info = ['METADATA', 'WHEEL', 'RECORD'].map((name) => `sluice_client-${version}.dist-info/${name}`)
  expect(Object.keys(files)).toEqual(['sluice_client/__init__.py', 'sluice_client/py.typed', ...info])
  expect(Buffer.from(files['sluice_client/__init__.py'] ?? []).equals(readFileSync(pythonClient))).toBe(true)
})
