import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Parser } from 'tar'
import { expect, onTestFinished, test } from 'vitest'
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
  const scratch = await openScratch('sluice-release-twice-')
  onTestFinished(() => scratch[Symbol.asyncDispose]())
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

test('two releases of one commit are equal byte by byte, whoever makes them', async () => {
  const first = await release('022', { TZ: 'UTC', LANG: 'C' })
  const second = await release('077', { TZ: 'Asia/Tokyo', LANG: 'tr_TR.UTF-8', SOURCE_DATE_EPOCH: '1' })
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const names = ['RELEASE.md', 'SHA256SUMS']
  const parts = [
    `sluice-${version}.tgz`,
    `sluice-client-${version}.tgz`,
    `sluice_client-${version}-py3-none-any.whl`,
    `sluice-sbom-${version}.cdx.json`,
  ]
  expect(Object.keys(first)).toEqual(expect.arrayContaining([...names, ...parts]))
  expect(Object.keys(second)).toEqual(Object.keys(first))
  for (const [file, bytes] of Object.entries(first)) expect(bytes.equals(second[file] as Buffer), file).toBe(true)

  const sums = Object.entries(first)
    .filter(([file]) => file !== 'SHA256SUMS')
    .map(([file, bytes]) => `${createHash('sha256').update(bytes).digest('hex')}  ${file}\n`)
  expect(String(first.SHA256SUMS)).toBe(sums.join(''))
  expect(String(first['RELEASE.md'])).toContain('The image is missing')

  const client = await entriesOf(first[`sluice-client-${version}.tgz`] as Buffer)
  const runnable = client.filter(({ mode }) => mode === 0o755)
  expect(runnable.map(({ path }) => path)).toEqual(['package/client-cli/src/main.js'])
  const chart = await entriesOf(first[`sluice-${version}.tgz`] as Buffer)
  expect(chart.map(({ path }) => path)).toContain('sluice/templates/deployments.yaml')
  expect(new Set([...client, ...chart].map(({ time }) => time)).size).toBe(1)
})
