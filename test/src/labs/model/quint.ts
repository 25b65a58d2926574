import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { oneAfterAnother } from '@sluice/joined-calls'
import { killAtExit } from '../../environment/program.ts'

const command = join(import.meta.dirname, '../../../../node_modules/.bin/quint')

/** The model. */
export const modelFile = join(import.meta.dirname, 'imports.qnt')

/** What must hold in every state of the model. `packages/engine/imports/README.md` names the same. */
export const invariants = [
  'oneActiveImport',
  'requestOrder',
  'filesNeverInterleave',
  'everyBatchOnceInOrder',
  'positionAndRowsTogether',
  'noWriteAfterLostClaim',
  'nothingAppliedUnchecked',
  'dryRunsApplyNothing',
  'deletedStaysDeleted',
  'oneMailPerEnd',
  'oneUndo',
  'completedIsWhole',
  'knownRowsAreStored',
] as const

/** A change of the model that breaks an invariant. */
export interface ModelMutation {
  change: string
  /** Text that the model has once. */
  find: string
  replace: string
  invariant: string
}

export function modelMutations(): ModelMutation[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'mutations.json'), 'utf8'))
}

/** How a simulation is run. */
export interface Simulation {
  traces: number
  /** Maximum number of steps of a trace. */
  steps: number
  invariants: readonly string[]
  /** Expressions that some traces must make true. */
  witnesses?: readonly string[]
  seed?: string
}

export interface SimulationResult {
  /** No trace broke an invariant. */
  holds: boolean
  /** The seed, the broken trace and the number of traces in which each witness was true. */
  output: string
}

/**
 * Runs random traces of a model. Throws if the model cannot be run. The backend in JavaScript is slower than the other
 * one, which is downloaded when it is first used.
 */
export async function simulate(file: string, simulation: Simulation): Promise<SimulationResult> {
  const { traces, steps, invariants, witnesses = [], seed } = simulation
  const { code, output } = await quint([
    ...['run', file, '--main=imports', '--backend=typescript', '--verbosity=2'],
    ...[`--max-samples=${traces}`, `--max-steps=${steps}`, ...(seed === undefined ? [] : [`--seed=${seed}`])],
    ...['--invariants', ...invariants],
    ...(witnesses.length === 0 ? [] : ['--witnesses', ...witnesses]),
  ])
  const isBroken = output.includes('[violation]')
  if (code !== 0 && !isBroken) throw new Error(`quint failed: ${output}`)
  return { holds: !isBroken, output }
}

/** Questions until quint starts anew, because it keeps all that it was told and becomes slower. */
const questionsOfProcess = 50

/**
 * Returns a function that adds definitions to a module and returns the value of an expression, as quint prints it, or
 * what quint has against the input. The module is loaded once for many questions, which are answered in turn.
 */
export function openEvaluator(file: string, module: string) {
  const inTurn = oneAfterAnother<string>(Number.POSITIVE_INFINITY)
  let child: ChildProcessWithoutNullStreams | undefined
  let asked = 0
  return (definitions: readonly string[], expression: string): Promise<string> =>
    inTurn(module, async () => {
      if (child === undefined || (child.exitCode ?? child.signalCode) !== null || asked === questionsOfProcess) {
        child?.stdin.end()
        child = startEvaluating(file, module)
        asked = 0
      }
      asked++
      return await ask(child, [...definitions, expression])
    })
}

/** Starts a quint that waits for questions as long as this process lives, and ends with it. */
function startEvaluating(file: string, module: string): ChildProcessWithoutNullStreams {
  const child = spawn(execPath, [command, 'repl', '--quiet', '--backend=typescript', `--require=${file}::${module}`])
  killAtExit(child)
  child.stdin.on('error', () => {}) // a question to a quint that has just ended; its end is noticed
  for (const stream of child.stdio) if (stream instanceof Socket) stream.unref()
  child.unref()
  return child
}

/** The value of this expression, which quint prints after all that it has to say to the lines before. */
const end = '"end of the answer"'

async function ask(child: ChildProcessWithoutNullStreams, lines: readonly string[]): Promise<string> {
  const answer = Promise.withResolvers<string>()
  let printed = ''
  const onData = (chunk: Buffer) => {
    printed += chunk
    if (printed.endsWith(`${end}\n`)) answer.resolve(printed.slice(0, -end.length - 1).trim())
  }
  const onExit = () => answer.reject(new Error(`quint ended: ${printed}`))
  child.stdout.on('data', onData)
  child.on('exit', onExit)
  child.ref()
  child.stdin.write(`${[...lines, end].join('\n')}\n`)
  try {
    return await answer.promise
  } finally {
    child.unref()
    child.stdout.off('data', onData)
    child.off('exit', onExit)
  }
}

function quint(args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(execPath, [command, ...args], { maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr }),
    )
  })
}
