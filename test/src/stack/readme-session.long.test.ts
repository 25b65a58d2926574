import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hasProgram, runProgram } from '../environment/program.ts'
import { until } from '../environment/wait.ts'
import { openSession, root, shellBlocks, withAddresses } from './documented-session.ts'
import { startStack } from './running-stack.ts'

// Executes the README's blocks of language `sh` under the heading "Use it", in order and in one shell, as a reader
// does.
const heading = 'Use it'
const hasPrograms = (await hasProgram('bash')) && (await hasProgram('curl')) && (await hasProgram('openssl'))
const hasAws = await hasProgram('aws')

test.skipIf(!hasPrograms)('the session in the README works as written', { timeout: 240_000 }, async () => {
  const blocks = shellBlocks(sectionOf(await readFile(join(root, 'README.md'), 'utf8')))
  expect(blocks).not.toEqual([])
  const stack = await startStack()
  onTestFinished(() => stack.stop())
  const session = await openSession(stack)

  const runnable = blocks.filter((block) => hasAws || !/^aws /m.test(block))
  const script = withAddresses(['set -eu', ...runnable].join('\n'), await stack.info())
  const { code, output } = await runProgram('bash', ['-c', script], { cwd: session.folder, env: session.env })
  expect(code, output).toBe(0)
  const answers = await session.httpAnswers()
  expect(answers, output).not.toEqual([])
  expect(answers.filter((answer) => !/^2\d\d /.test(answer))).toEqual([])

  const imports = await until('the end of the imports', async () => {
    const rows = await stack.db.selectFrom('imports').select(['source', 'state', 'error', 'finished_at']).execute()
    return rows.every((row) => row.finished_at !== null) && rows
  })
  expect(imports).not.toEqual([])
  for (const each of imports) expect(each).toMatchObject({ state: 'completed', error: null })
})

/** Returns the text from the heading to the next heading of the same or a higher level. */
function sectionOf(readme: string): string {
  const [found, marks = ''] = new RegExp(`^(#+) ${heading}$`, 'm').exec(readme) ?? []
  if (found === undefined) throw new Error(`README.md has no heading "${heading}"`)
  const text = readme.slice(readme.indexOf(`\n${found}\n`) + found.length + 2)
  // A comment in a shell block looks like a heading, so blocks are removed from the text that is searched.
  const withoutBlocks = text.replaceAll(/^```.*?^```$/gms, (block) => ' '.repeat(block.length))
  const end = withoutBlocks.search(new RegExp(`^#{1,${marks.length}} `, 'm'))
  return end === -1 ? text : text.slice(0, end)
}
