import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runSluice } from '../environment/sluice-command.ts'
import { root } from '../stack/documented-session.ts'

test('each command of sluice that a document names exists, and has the options that the document gives it', async () => {
  const names = (await readdir(join(root, 'docs'))).map((name) => join('docs', name))
  const texts = await Promise.all(
    ['README.md', 'CHANGELOG.md', ...names].map((name) => readFile(join(root, name), 'utf8')),
  )
  const named = texts
    .join('\n')
    .matchAll(/(?:`|^(?:npx )?)sluice ([a-z][a-z-]*(?: [a-z][a-z-]*(?=[ `\n]))?)([^`\n]*)/gm)
  const commands = new Map<string, Set<string>>()
  for (const [, words = '', rest = ''] of named) {
    const options = commands.get(words) ?? new Set()
    for (const [option] of rest.matchAll(/--[a-z-]+/g)) options.add(option)
    commands.set(words, options)
  }
  expect(commands.size).toBeGreaterThan(30)
  for (const [words, options] of commands) {
    const { code, stdout, stderr } = await runSluice([...words.split(' '), '--help'], { NO_COLOR: '1' })
    expect([code, stderr], words).toEqual([0, ''])
    // A word that is no command leads to the help of the group before it.
    expect(stdout, words).toMatch(/^Usage: sluice [a-z]/)
    expect(stdout, words).not.toContain('[command]')
    for (const option of options) expect(stdout, words).toContain(`${option} `)
  }
})
