import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSource, refusalOf } from './source.ts'

let folder: string
const git = (...args: string[]) => {
  const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', '-c', 'commit.gpgsign=false']
  execFileSync('git', [...author, ...args], { cwd: folder, stdio: 'ignore' })
}
const refusal = () => refusalOf(readSource(folder), folder)

function commit(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  git('add', '.')
  git('commit', '--message', 'A change')
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-release-source-'))
  git('init')
  commit({ 'package.json': '{"version":"1.2.0"}', 'CHANGELOG.md': '## 1.2.0 (pending)\n', '.gitignore': 'dist/\n' })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a clean tree is released without a tag, but not a tree with changes or with new files', () => {
  expect(refusal()).toBeUndefined()
  writeFileSync(join(folder, 'new.ts'), '')
  expect(refusal()).toMatch(/^The working tree has changes that no commit contains\. .*\n\?\? new\.ts$/)
  rmSync(join(folder, 'new.ts'))
  writeFileSync(join(folder, 'CHANGELOG.md'), 'changed')
  expect(refusal()).toMatch(/\n M CHANGELOG\.md$/)
  git('checkout', '.')
})

test('a tag is released if it names the version, and if the changelog does not call this version pending', () => {
  git('tag', 'v1.2.0')
  expect(readSource(folder)).toMatchObject({ version: '1.2.0', isTagged: true })
  expect(refusal()).toBe('The commit has the tag v1.2.0, but CHANGELOG.md calls this version pending.')
  git('tag', '--delete', 'v1.2.0')
  commit({ 'CHANGELOG.md': '## 1.2.0\n' })
  git('tag', 'v1.2.0')
  expect(refusal()).toBeUndefined()
  git('tag', 'v1.3.0')
  expect(refusal()).toBe('The commit has the tag v1.3.0, but package.json has version 1.2.0.')
})
