import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { linkLibraries } from './binaries.ts'

test('linkLibraries makes the missing library links, and leaves existing links unchanged', async () => {
  const root = await mkdtemp(join(tmpdir(), 'sluice-binaries-'))
  onTestFinished(() => rm(root, { recursive: true }))
  await mkdir(join(root, 'native', 'lib'), { recursive: true })
  await writeFile(join(root, 'native', 'lib', 'libx.so.1.2'), 'library')
  const links = ['native/lib/libx.so.1', 'native/lib/libx.so']
  await writeFile(
    join(root, 'native', 'pg-symlinks.json'),
    JSON.stringify(links.map((target) => ({ source: 'native/lib/libx.so.1.2', target }))),
  )
  await linkLibraries(root)
  await linkLibraries(root)
  for (const link of links) {
    expect(await readlink(join(root, link))).toBe('libx.so.1.2')
    expect(await readFile(join(root, link), 'utf8')).toBe('library')
  }
})
