import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StackInfo } from '@sluice/local-stack'
import { expect, onTestFinished, test } from 'vitest'
import { hasProgram, runProgram } from '../environment/program.ts'
import { until } from '../environment/wait.ts'
import { openApp } from './client.ts'
import { type RunningStack, startStack } from './running-stack.ts'

// Executes the README's blocks of language `sh` under the heading "Use it", in order and in one shell, as a reader
// does.
const heading = 'Use it'
const root = fileURLToPath(new URL('../../..', import.meta.url))
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

function shellBlocks(text: string): string[] {
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
}

/** Replaces the default addresses of `npm start` with the addresses of the running stack. */
function withAddresses(script: string, info: StackInfo): string {
  const addresses = [
    ['localhost:3000', info.api],
    ['localhost:3001', info.dashboard],
    ['localhost:3002', info.storage],
    ['localhost:3003', info.inbox],
    ['localhost:3006', info.s3_gateway],
  ] as const
  return addresses.reduce((text, [host, url = '']) => text.replaceAll(host, new URL(url).host), script)
}

interface Session {
  /** Working directory of the shell. */
  folder: string
  env: Record<string, string>
  /** Returns the status and the URL of each answer that `curl` got. */
  httpAnswers(): Promise<string[]>
}

/**
 * Prepares an empty folder and an environment with `$APP`, `$TOKEN`, `npm run -s sluice` and a `curl` that records
 * statuses.
 */
async function openSession(stack: RunningStack): Promise<Session> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-readme-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const [bin, answers] = [join(folder, 'bin'), join(folder, 'answers.log')]
  await mkdir(bin)
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter)
  const command = join(root, 'apps', 'cli', 'src', 'main.ts')
  // npm itself would run the command in the repository, where the session's files must not be written.
  await writeProgram(
    join(bin, 'npm'),
    `[ "$1 $2 $3 $4" = 'run -s sluice --' ] || { echo "not part of a session: npm $*" >&2; exit 1; }
shift 4
exec '${process.execPath}' '${command}' "$@"`,
  )
  await writeProgram(
    join(bin, 'curl'),
    `PATH='${path}' exec curl --write-out '%{stderr}%{http_code} %{url_effective}\\n' "$@" 2>>'${answers}'`,
  )
  const { appId, token } = await openApp(stack)
  return {
    folder,
    env: {
      PATH: [bin, path].join(delimiter),
      HOME: folder,
      SLUICE_HOME: stack.home,
      APP: String(appId),
      TOKEN: token,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    httpAnswers: async () =>
      (await readFile(answers, 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
  }
}

async function writeProgram(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}
