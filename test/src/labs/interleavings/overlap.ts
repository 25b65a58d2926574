import { openApp, queueFile } from '../../imports/import-fixture.ts'
import type { Action, ActionName, Cut } from './actions.ts'
import { type ActorsFixture, finishImport, remainsOf } from './fixture.ts'

/** What an actor does in an order. */
export type Start = { [Name in ActionName]: { name: Name; argument: Action<Name> } }[ActionName]

/** One order: what its actors do, and what must hold afterwards. */
export interface Scene {
  starts: readonly Start[]
  /** Ends what the actors left open. Returns what remains, which must equal an outcome of {@link Overlap.isSerial}. */
  finish(): Promise<unknown>
  /** Checks what remains. Returns the problems. */
  check?(remains: unknown): string[]
}

/** Actions of two or more actors at the same time. */
export interface Overlap {
  name: string
  /**
   * Whether every order must leave what one of the orders without an overlap leaves; after a crash, also without the
   * actor that died. Otherwise `check` decides: cancelling, for one, keeps the batches that were committed before.
   */
  isSerial: boolean
  /** Maximum number of preemptions; undefined for all orders. */
  preemptions?: number
  open(fixture: ActorsFixture): Promise<Scene>
}

export const users = ['u1', 'u2', 'u3']
export const file = 'user_id,age\nu1,34\nu2,35\nnobody,36\n'

export async function openImport(fixture: ActorsFixture) {
  const appId = await openApp(fixture, users)
  const importId = await queueFile(fixture, appId, file)
  const finish = async () => {
    await finishImport(fixture, appId, importId)
    return await remainsOf(fixture, appId, [importId])
  }
  return { appId, importId, finish }
}

export type Remains = Awaited<ReturnType<typeof remainsOf>>

/** Checks an import that was cancelled at any moment: the number of applied rows must match the profiles. */
export function checkCancelled(remains: unknown): string[] {
  const { imports, profiles } = remains as Remains
  const [{ state, rows_applied: applied } = { state: 'none', rows_applied: -1 }] = imports
  const values = Object.values(profiles).filter(({ age }) => age !== undefined).length
  if (!['completed', 'cancelled'].includes(state)) return [`the import is ${state}`]
  return applied === values && (applied === 0 || applied === 2)
    ? []
    : [`${applied} rows count as applied, ${values} are`]
}

/** Checks an import that ran to its end. */
export function checkCompleted(remains: unknown): string[] {
  const { imports, profiles } = remains as Remains
  const expected = { u1: { age: 34 }, u2: { age: 35 }, u3: {} }
  const problems = JSON.stringify(profiles) === JSON.stringify(expected) ? [] : [`profiles ${JSON.stringify(profiles)}`]
  for (const { state, rows_applied: applied, rows_failed: failed } of imports) {
    if (state !== 'completed' || applied !== 2 || failed !== 1)
      problems.push(`${state}, ${applied} applied, ${failed} failed`)
  }
  return problems
}

/** An import of an app. */
interface OneImport {
  fixture: ActorsFixture
  appId: number
  importId: string
}

/** Actions on one import of an app, of which `starts` prepares what is needed before them. */
interface ImportOverlap extends Omit<Overlap, 'open'> {
  starts(on: OneImport): Promise<Scene['starts']>
  /** Precedes the end of the import, after the actions. */
  beforeEnd?(on: OneImport): Promise<void>
  check?: Scene['check']
}

export function onOneImport({ starts, beforeEnd, check, ...overlap }: ImportOverlap): Overlap {
  return {
    ...overlap,
    async open(fixture) {
      const { appId, importId, finish } = await openImport(fixture)
      const on = { fixture, appId, importId }
      return {
        starts: await starts(on),
        async finish() {
          await beforeEnd?.(on)
          return await finish()
        },
        ...(check && { check }),
      }
    },
  }
}

export const claimAndRun = (appId: number, importId: string, cut: Cut = {}): Start => ({
  name: 'claimAndRun',
  argument: { appId, importId, ...cut },
})
