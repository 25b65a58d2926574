import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { zipSync } from 'fflate'
import { root } from './modules.ts'
import { pythonClient, withContract } from './python-types.ts'

// Builds the wheel that users of the Python client install, without a network.
//   npm run build:python [-- <folder>], then pip install dist/python/sluice_client-<version>-py3-none-any.whl

/** The earliest time that a ZIP file can hold. With a fixed time, two builds are equal byte by byte. */
const changedAt = new Date(1980, 0, 1)

/** Builds the wheel in a folder. Returns its path. Throws if the client's types are not those of the contract. */
export function buildWheel(folder: string): string {
  const source = readFileSync(pythonClient, 'utf8')
  if (source !== withContract(source)) throw new Error('run: node scripts/python-types.ts --write')
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const info = `sluice_client-${version}.dist-info`
  // Type checkers read the types of a package only, not those of a single module.
  const files: Record<string, string> = {
    'sluice_client/__init__.py': source,
    'sluice_client/py.typed': '',
    [`${info}/METADATA`]: metadata(version, license),
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: sluice\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
  }
  const lines = Object.entries(files).map(([path, text]) => `${path},${digestOf(text)},${Buffer.byteLength(text)}\n`)
  const entries = { ...files, [`${info}/RECORD`]: `${lines.join('')}${info}/RECORD,,\n` }
  const bytes = Object.fromEntries(Object.entries(entries).map(([path, text]) => [path, Buffer.from(text)]))
  mkdirSync(folder, { recursive: true })
  const wheel = join(folder, `sluice_client-${version}-py3-none-any.whl`)
  writeFileSync(wheel, zipSync(bytes, { mtime: changedAt }))
  return wheel
}

function metadata(version: string, license: string): string {
  const fields = {
    'Metadata-Version': '2.1',
    Name: 'sluice-client',
    Version: version,
    Summary: 'Client of the Sluice API: bulk import of user profiles, updates, exports and deletions',
    License: license,
    'Requires-Python': '>=3.9',
    'Description-Content-Type': 'text/markdown',
  }
  const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`)
  return `${head.join('')}\n${readFileSync(join(root, 'packages/python-client/README.md'), 'utf8')}`
}

/** Returns the digest of a file as a wheel records it. */
const digestOf = (text: string) => `sha256=${createHash('sha256').update(text).digest('base64url')}`

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(buildWheel(resolve(process.argv[2] ?? join(root, 'dist/python'))))
}
