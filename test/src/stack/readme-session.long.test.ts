import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from '@sluice/database'
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
  const blocks = shellBlocks(sectionOf(await readFile(join(root, 'README.md'), 'utf8'), heading))
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

test.skipIf(!hasPrograms)(
  'the guide shows an import that is held, approved and undone, as written',
  { timeout: 240_000 },
  async () => {
    const guide = sectionOf(
      await readFile(join(root, 'docs', 'guide.md'), 'utf8'),
      'See before you apply, and take back',
    )
    const readme = sectionOf(await readFile(join(root, 'README.md'), 'utf8'), heading)
    const stack = await startStack()
    onTestFinished(() => stack.stop())
    const session = await openSession(stack)
    // The guide follows the first block of the README that imports a file.
    const script = ['set -eu', ...shellBlocks(readme).slice(0, 1), ...shellBlocks(guide)].join('\n')
    const { code, output } = await runProgram('bash', ['-c', withAddresses(script, await stack.info())], {
      cwd: session.folder,
      env: session.env,
    })
    expect(code, output).toBe(0)
    const { rows } = await sql<{ source: string; dry_run: boolean; state: string; rows_changed: number }>`
    select source, dry_run, state, rows_changed from imports order by sequence_number
  `.execute(stack.db)
    expect(rows.slice(1)).toEqual([
      { source: 'v3', dry_run: true, state: 'completed', rows_changed: 2 },
      { source: 'v3', dry_run: false, state: 'completed', rows_changed: 2 },
      { source: 'undo', dry_run: true, state: 'completed', rows_changed: 2 },
      { source: 'undo', dry_run: false, state: 'completed', rows_changed: 2 },
    ])
  },
)

/** Returns the text from the heading to the next heading of the same or a higher level. */
function sectionOf(document: string, heading: string): string {
  const [found, marks = ''] = new RegExp(`^(#+) ${heading}$`, 'm').exec(document) ?? []
  if (found === undefined) throw new Error(`the document has no heading "${heading}"`)
  const text = document.slice(document.indexOf(`\n${found}\n`) + found.length + 2)
  // A comment in a shell block looks like a heading, so blocks are removed from the text that is searched.
  const withoutBlocks = text.replaceAll(/^```.*?^```$/gms, (block) => ' '.repeat(block.length))
  const end = withoutBlocks.search(new RegExp(`^#{1,${marks.length}} `, 'm'))
  return end === -1 ? text : text.slice(0, end)
}
