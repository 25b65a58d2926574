import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createApp } from '@sluice/accounts'
import { dispatchNextInOrder, resumeImports } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { request, schedule } from '../../deletions/deletion-fixture.ts'
import { claim, openApp, queueFile } from '../../imports/import-fixture.ts'
import { endLease, finishImport, type PairFixture, remainsOf } from './fixture.ts'
import type { Operation, OperationName } from './operations.ts'

/** What an actor does in an order. */
type Start = { [Name in OperationName]: { name: Name; argument: Operation<Name> } }[OperationName]

/** One order of a pair: what its actors do, and what must hold afterwards. */
interface Scene {
  starts: readonly [Start, Start]
  /** Ends what the actors left open. Returns what remains, which must equal an outcome of {@link Pair.isSerial}. */
  finish(): Promise<unknown>
  /** Checks what remains. Returns the problems. */
  check?(remains: unknown): string[]
}

export interface Pair {
  name: string
  /**
   * Whether every order must leave what one of the two orders without an overlap leaves. Otherwise `check` decides:
   * cancelling, for one, keeps the batches that were committed before.
   */
  isSerial: boolean
  /** Maximum number of preemptions; undefined for all orders. */
  preemptions?: number
  open(fixture: PairFixture): Promise<Scene>
}

const users = ['u1', 'u2', 'u3']
const file = 'user_id,age\nu1,34\nu2,35\nnobody,36\n'

async function openImport(fixture: PairFixture) {
  const appId = await openApp(fixture, users)
  const importId = await queueFile(fixture, appId, file)
  const finish = async () => {
    await finishImport(fixture, appId, importId)
    return await remainsOf(fixture, appId, [importId])
  }
  return { appId, importId, finish }
}

type Remains = Awaited<ReturnType<typeof remainsOf>>

/** Checks an import that was cancelled at any moment: the number of applied rows must match the profiles. */
function checkCancelled(remains: unknown): string[] {
  const { imports, profiles } = remains as Remains
  const [{ state, rows_applied: applied } = { state: 'none', rows_applied: -1 }] = imports
  const values = Object.values(profiles).filter(({ age }) => age !== undefined).length
  if (!['completed', 'cancelled'].includes(state)) return [`the import is ${state}`]
  return applied === values && (applied === 0 || applied === 2)
    ? []
    : [`${applied} rows count as applied, ${values} are`]
}

/** Checks an import that ran to its end. */
function checkCompleted(remains: unknown): string[] {
  const { imports, profiles } = remains as Remains
  const expected = { u1: { age: 34 }, u2: { age: 35 }, u3: {} }
  const problems = JSON.stringify(profiles) === JSON.stringify(expected) ? [] : [`profiles ${JSON.stringify(profiles)}`]
  for (const { state, rows_applied: applied, rows_failed: failed } of imports) {
    if (state !== 'completed' || applied !== 2 || failed !== 1)
      problems.push(`${state}, ${applied} applied, ${failed} failed`)
  }
  return problems
}

/** Two operations on one import of an app, of which `starts` prepares what is needed before them. */
interface ImportPair extends Omit<Pair, 'open'> {
  starts(on: { fixture: PairFixture; appId: number; importId: string }): Promise<Scene['starts']>
  check?: Scene['check']
}

function onOneImport({ starts, check, ...pair }: ImportPair): Pair {
  return {
    ...pair,
    async open(fixture) {
      const { appId, importId, finish } = await openImport(fixture)
      return { starts: await starts({ fixture, appId, importId }), finish, ...(check && { check }) }
    },
  }
}

const claimAndRun = (appId: number, importId: string): Start => ({ name: 'claimAndRun', argument: { appId, importId } })

const claimed = onOneImport({
  name: 'two workers claim one import',
  ...{ isSerial: true, preemptions: 3, check: checkCompleted },
  starts: async ({ appId, importId }) => [claimAndRun(appId, importId), claimAndRun(appId, importId)],
})

const abandoned = onOneImport({
  name: 'a worker whose lease ran out, and its successor',
  ...{ isSerial: true, preemptions: 2, check: checkCompleted },
  async starts({ fixture, appId, importId }) {
    const lost = await claim(fixture, appId, importId)
    await endLease(fixture, importId)
    return [{ name: 'run', argument: lost }, claimAndRun(appId, importId)]
  },
})

const twoImports: Pair = {
  name: 'two workers and two imports of one app',
  isSerial: false,
  preemptions: 2,
  async open(fixture) {
    const appId = await openApp(fixture, users)
    const imports = [
      await queueFile(fixture, appId, file),
      await queueFile(fixture, appId, 'user_id,age\nu1,34\n'),
    ] as const
    const [first, second] = imports
    return {
      starts: [claimAndRun(appId, first), claimAndRun(appId, second)],
      async finish() {
        for (const importId of imports) await finishImport(fixture, appId, importId)
        return await remainsOf(fixture, appId, imports)
      },
      check: (remains) => {
        const { imports: ended, profiles } = remains as Remains
        const states = ended.map(({ state, rows_applied: applied }) => `${state} ${applied}`).join()
        const isRight = states === 'completed 2,completed 1' && profiles.u1?.age === 34
        return isRight ? [] : [`${states} ${JSON.stringify(profiles)}`]
      },
    }
  },
}

/** The import and a profile update register the same new key, with one type or with two. */
const newKey = (type: 'int' | 'string', value: number | string, preemptions: number) =>
  onOneImport({
    name: `an import and a profile update of a new key (${type})`,
    ...{ isSerial: true, preemptions },
    starts: async ({ appId, importId }) => [
      claimAndRun(appId, importId),
      { name: 'updateProfile', argument: { appId, userId: 'u1', entries: [{ key: 'age', type, value }] } },
    ],
  })

const deletion = onOneImport({
  name: 'an import and a deletion',
  ...{ isSerial: true, preemptions: 1 },
  async starts({ fixture, appId, importId }) {
    await request(fixture, appId, ['u1'], schedule.accepted)
    return [claimAndRun(appId, importId), { name: 'runDeletions', argument: { now: schedule.completion } }]
  },
  check: (remains) => ('u1' in (remains as Remains).profiles ? ['the deleted user is there'] : []),
})

const cancel = onOneImport({
  name: 'cancelling and the commit of a batch',
  ...{ isSerial: false, check: checkCancelled },
  starts: async ({ fixture, appId, importId }) => [
    { name: 'run', argument: await claim(fixture, appId, importId) },
    { name: 'cancel', argument: { importId } },
  ],
})

const maintenance = onOneImport({
  name: 'a claim and maintenance',
  ...{ isSerial: false, check: checkCompleted },
  async starts({ fixture, appId }) {
    await dispatchNextInOrder(fixture.context, appId)
    return [
      { name: 'claimNext', argument: undefined },
      { name: 'maintain', argument: { appId } },
    ]
  },
})

/** An approval of a held import, whose time for approval is over, and another operation. */
const approval = (name: string, other: (appId: number, importId: string) => Start): Pair => ({
  name: `an approval and ${name}`,
  ...{ isSerial: true, preemptions: 2 },
  async open(fixture) {
    const appId = await openApp(fixture, users)
    const importId = await queueFile(fixture, appId, file, 'text/csv', false, { holdIf: 'always' })
    await finishImport(fixture, appId, importId)
    const { db } = fixture.database
    await db
      .updateTable('imports')
      .set({ held_until: new Date(0) })
      .where('import_id', '=', importId)
      .execute()
    return {
      starts: [{ name: 'approve', argument: { importId } }, other(appId, importId)],
      async finish() {
        await finishImport(fixture, appId, importId)
        return await remainsOf(fixture, appId, [importId])
      },
    }
  },
})

const pause: Pair = {
  name: 'pausing and a claim',
  isSerial: false,
  async open(fixture) {
    const { appId, importId } = await openImport(fixture)
    await dispatchNextInOrder(fixture.context, appId)
    const { db } = fixture.database
    return {
      starts: [
        { name: 'pause', argument: { appId } },
        { name: 'claimNext', argument: undefined },
      ],
      async finish() {
        const { state, dispatched_at: dispatched } = await db
          .selectFrom('imports')
          .select(['state', 'dispatched_at'])
          .where('import_id', '=', importId)
          .executeTakeFirstOrThrow()
        // Running imports of other apps would release their slots for a paused import that is still dispatched.
        const problem = state === 'queued' && dispatched !== null ? 'a paused import waits for a worker' : undefined
        await resumeImports(db, appId)
        await finishImport(fixture, appId, importId)
        return { problem, ...(await remainsOf(fixture, appId, [importId])) }
      },
      check: (remains) => {
        const { problem } = remains as { problem: string | undefined }
        return [...(problem === undefined ? [] : [problem]), ...checkCompleted(remains)]
      },
    }
  },
}

const firstRequests: Pair = {
  name: 'two first requests with one idempotency key',
  isSerial: false,
  preemptions: 3,
  async open(fixture) {
    const { db } = fixture.database
    const { appId, apiToken: token } = await createApp(db, { name: 'Test', email: 'member@example.com' })
    await registerUsers(db, appId, users)
    const checksum = createHash('md5').update(file).digest('base64')
    const argument = { token, key: 'key-1', body: { checksum, byte_size: String(file.length) } }
    const start = { name: 'firstRequest', argument } as const
    return {
      starts: [start, start],
      async finish() {
        const [first, second] = fixture.actors.map(({ result }) => {
          assert(result !== undefined && 'value' in result, JSON.stringify(result))
          return result.value as { status: number; importId: string | null }
        })
        const rows = await db.selectFrom('imports').select('import_id').where('app_id', '=', appId).execute()
        return { answers: [first, second], imports: rows.map((row) => row.import_id) }
      },
      check: (remains) => {
        const { answers, imports } = remains as {
          answers: { status: number; importId: string | null }[]
          imports: string[]
        }
        const isRight =
          imports.length === 1 &&
          answers.some(({ status }) => status === 200) &&
          answers.every(({ status, importId }) => status === 409 || (status === 200 && importId === imports[0]))
        return isRight ? [] : [JSON.stringify(remains)]
      },
    }
  },
}

/** Every pair of operations whose overlap matters. */
export const pairs: readonly Pair[] = [
  ...[claimed, abandoned, twoImports, newKey('int', 99, 1), newKey('string', 'old', 2), deletion],
  ...[cancel, maintenance, firstRequests, pause],
  approval('another one', (_, importId) => ({ name: 'approve', argument: { importId } })),
  approval('a cancellation', (_, importId) => ({ name: 'cancel', argument: { importId } })),
  approval('the end of its time', (appId) => ({ name: 'maintain', argument: { appId } })),
]
