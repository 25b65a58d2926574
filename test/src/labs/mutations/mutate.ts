import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { JsonTestResults } from 'vitest/node'
import { copyRepository, root } from './copy.ts'

/** A fault that is put into the code on purpose, with a test that must notice it. */
export interface Mutation {
  /** What is wrong then. */
  change: string
  file: string
  /** Text that the file has once. */
  find: string
  replace: string
  test: string
  /** Part of the title of the test. */
  title: string
}

/** `survived`: the test passed. `not run`: the file failed before it came to the test, so nothing is known. */
export type Verdict = 'noticed' | 'survived' | 'not run'

export interface MutationResult {
  mutation: Mutation
  verdict: Verdict
  seconds: number
  /** What the run printed. */
  output: string
}

/** Limit of a run, ms. A fault may make a test wait until its own limit. */
const longestRunMs = 600_000

/** Returns all mutations of `mutations.json`. */
export async function readMutations(): Promise<Mutation[]> {
  return JSON.parse(await readFile(join(import.meta.dirname, 'mutations.json'), 'utf8'))
}

/** Returns why a mutation cannot be applied to the text of its file, or undefined. */
export function mutationProblem({ find, replace }: Mutation, text: string): string | undefined {
  const times = text.split(find).length - 1
  if (times !== 1) return `the file has the text ${times} times`
  return find === replace ? 'nothing is replaced' : undefined
}

/**
 * Applies each mutation to a copy of the repository, runs its test there, and takes it back. Runs as many at a time as
 * there are `lanes`, and calls `onResult` after each.
 */
export async function runMutations(
  mutations: readonly Mutation[],
  lanes: number,
  onResult: (result: MutationResult) => void,
): Promise<void> {
  const left = [...mutations]
  const runLane = async () => {
    await using copy = await copyRepository()
    for (let next = left.shift(); next !== undefined; next = left.shift()) onResult(await runMutation(next, copy.path))
  }
  await Promise.all(Array.from({ length: Math.min(lanes, mutations.length) }, runLane))
}

async function runMutation(mutation: Mutation, folder: string): Promise<MutationResult> {
  const { file, find, replace } = mutation
  const original = await readFile(join(root, file), 'utf8')
  const problem = mutationProblem(mutation, original)
  if (problem !== undefined) throw new Error(`${mutation.change} ${file}: ${problem}`)
  await writeFile(
    join(folder, file),
    original.replace(find, () => replace),
  )
  const began = performance.now()
  try {
    const [verdict, output] = await runTest(mutation, folder)
    return { mutation, verdict, seconds: Math.round((performance.now() - began) / 1000), output }
  } finally {
    await writeFile(join(folder, file), original)
  }
}

/** Runs the test of a mutation in a copy. */
async function runTest({ test, title }: Mutation, folder: string): Promise<[Verdict, string]> {
  const report = join(folder, 'node_modules', 'mutation.json')
  await writeFile(report, '{}')
  const bin = join(folder, 'node_modules', '.bin')
  const args = [
    'run',
    '--project',
    projectOf(test),
    test,
    '-t',
    RegExp.escape(title),
    '--reporter=json',
    `--outputFile=${report}`,
  ]
  const output = await new Promise<string>((resolve) => {
    const env: NodeJS.ProcessEnv = { ...process.env, PATH: `${bin}:${process.env.PATH}` }
    // The runs of a vitest of its own: variables of a vitest around this process would reach it.
    for (const variable of Object.keys(env)) if (variable.startsWith('VITEST')) delete env[variable]
    const options = { cwd: folder, env, timeout: longestRunMs, maxBuffer: 2 ** 26 }
    execFile(join(bin, 'vitest'), args, options, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
  return [verdictOf(JSON.parse(await readFile(report, 'utf8')), title), output]
}

function projectOf(test: string): string {
  if (test.endsWith('.long.test.ts')) return 'long'
  return test.startsWith('test/') ? 'system' : 'unit'
}

function verdictOf({ testResults }: JsonTestResults, title: string): Verdict {
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName, status }) => fullName.includes(title) && (status === 'passed' || status === 'failed'))
  if (ran.length === 0) return 'not run'
  return ran.some(({ status }) => status === 'failed') ? 'noticed' : 'survived'
}
