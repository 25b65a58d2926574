import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Parser } from 'tar'
import { beforeAll, describe, expect, test } from 'vitest'
import { runProgram } from '../../test/src/environment/program.ts'
import { openScratch } from '../../test/src/environment/scratch.ts'
import { root } from '../modules.ts'

/** Makes a folder in which git, Node and npm are the only programs. Returns its path. */
async function programs(folder: string): Promise<string> {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const { output } = await runProgram('sh', ['-c', 'for name in git npm sh env; do command -v $name; done'])
  for (const path of output.trim().split('\n')) symlinkSync(path, join(bin, path.split('/').at(-1) ?? ''))
  symlinkSync(process.execPath, join(bin, 'node'))
  return bin
}

/** Makes a release without an image, with a mask of permissions and an environment. Returns its files. */
async function release(umask: string, environment: Record<string, string>): Promise<Record<string, Buffer>> {
  await using scratch = await openScratch('sluice-release-twice-')
  const out = join(scratch.path, 'release')
  const env = { PATH: await programs(scratch.path), HOME: scratch.path, TMPDIR: scratch.path, ...environment }
  const command = `umask ${umask}; exec node scripts/release/main.ts --with-changes --out ${out}`
  const { code, output } = await runProgram('sh', ['-c', command], { cwd: root, env })
  expect(code, output).toBe(0)
  expect(output).toContain('The release has no image, because there is no buildah on the path.')
  return Object.fromEntries(readdirSync(out).map((file) => [file, readFileSync(join(out, file))]))
}

/** Returns what a `tar` archive says about each of its files. */
async function entriesOf(archive: Buffer) {
  const entries: { path: string; mode: number | undefined; time: string | undefined }[] = []
  const parser = new Parser({
    onReadEntry(entry) {
      entries.push({ path: entry.path, mode: entry.mode, time: entry.mtime?.toISOString() })
      entry.resume()
    },
  })
  await new Promise<void>((resolve, reject) => parser.on('end', resolve).on('error', reject).end(archive))
  return entries
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
let files: Record<string, Buffer>
let others: Record<string, Buffer>
beforeAll(async () => {
  files = await release('022', { TZ: 'UTC', LANG: 'C' })
  others = await release('077', { TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8', SOURCE_DATE_EPOCH: '1' })
})

const fileOf = (name: string) => files[name] as Buffer

test('two releases of one commit are equal byte by byte, whoever makes them', () => {
  expect(Object.keys(others)).toEqual(Object.keys(files))
  for (const [file, bytes] of Object.entries(files)) expect(bytes.equals(others[file] as Buffer), file).toBe(true)
})

test('a release has the chart, both clients, the bill of materials and their sums', () => {
  const parts = [
    `sluice-${version}.tgz`,
    `sluice-client-${version}.tgz`,
    `sluice_client-${version}-py3-none-any.whl`,
    `sluice-sbom-${version}.cdx.json`,
  ]
  expect(Object.keys(files)).toEqual(expect.arrayContaining(['RELEASE.md', 'SHA256SUMS', ...parts]))
  const sums = Object.entries(files)
    .filter(([file]) => file !== 'SHA256SUMS')
    .map(([file, bytes]) => `${createHash('sha256').update(bytes).digest('hex')}  ${file}\n`)
  expect(String(files.SHA256SUMS)).toBe(sums.join(''))
})

test('a release without an image says so', () => {
  expect(String(fileOf('RELEASE.md'))).toContain('The image is missing')
})

describe('the archives of a release', () => {
  const entries = (name: string) => entriesOf(fileOf(`${name}-${version}.tgz`))

  test('have the command of the client, which is executable, and the templates of the chart', async () => {
    const runnable = (await entries('sluice-client')).filter(({ mode }) => mode === 0o755)
    expect(runnable.map(({ path }) => path)).toEqual(['package/client-cli/src/main.js'])
    expect((await entries('sluice')).map(({ path }) => path)).toContain('sluice/templates/deployments.yaml')
  })

  test('give all files the same time', async () => {
    const all = [...(await entries('sluice-client')), ...(await entries('sluice'))]
    expect(new Set(all.map(({ time }) => time)).size).toBe(1)
  })
})
