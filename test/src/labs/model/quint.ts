import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openScratch } from '../../environment/scratch.ts'

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

/**
 * Returns the first state of a module: the values of its variables by their names. Accepts a function that returns the
 * module for the folder in which its file will stand; quint's paths of modules are relative. Throws if it is wrong.
 */
export async function evaluate(module: (folder: string) => string, name: string): Promise<Record<string, unknown>> {
  await using scratch = await openScratch('sluice-model-')
  const [file, result] = [join(scratch.path, `${name}.qnt`), join(scratch.path, 'state.json')]
  await writeFile(file, module(scratch.path))
  const { code, output } = await quint([
    ...['run', file, `--main=${name}`, '--backend=typescript', '--max-samples=1', '--max-steps=0'],
    `--out-itf=${result}`,
  ])
  if (code !== 0) throw new Error(`quint failed: ${output}`)
  const { states } = JSON.parse(await readFile(result, 'utf8'), (_, value) =>
    typeof value?.['#bigint'] === 'string' ? Number(value['#bigint']) : value,
  )
  return states[0]
}

function quint(args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, ...args], { maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr }),
    )
  })
}
