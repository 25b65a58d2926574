import { changeKeys } from '@sluice/profiles'
import { request, schedule } from '../../deletions/deletion-fixture.ts'
import { claim, importFile, openApp, queueFile } from '../../imports/import-fixture.ts'
import { type ActorsFixture, finishImport, importOf, remainsOf } from './fixture.ts'
import { claimAndRun, type Overlap, type Remains, type Scene, type Start } from './overlap.ts'

// A repeated file, row by row: after two unchanged rows, the import reads which rows the profiles hold, so that another
// actor works before, during and after the reading (packages/engine/imports/README.md, Exactly once).
const users = ['u1', 'u2', 'u3', 'u4']
const first = 'user_id,k,l\nu1,a,b\nu2,a,b\nu3,a,b\nu4,a,b\n'
/** u3 has another row between two known ones. */
const file = `${first}u3,c,b\nu3,a,b\n`
const newValues = 'user_id,k,l\nu1,c,new\nu2,c,new\nu3,c,new\nu4,c,new\nu3,d,new\nu3,c,new\n'
const rowByRow = true

/** A repeated file and another action. */
interface RepeatedFile {
  name: string
  preemptions: number
  isSerial?: boolean
  /** Prepares what is needed before the orders. Returns the actions. */
  starts(on: { fixture: ActorsFixture; appId: number; importId: string }): Promise<readonly Start[]>
  /** Profiles of u1 to u4 that may remain, as JSON. */
  leaves: readonly string[]
  /** Number of rows that changed a profile; undefined if it depends on the order. */
  changed?: number
  text?: string
  /** Follows the first import. */
  prepare?(fixture: ActorsFixture, appId: number): Promise<void>
  /** Follows the end of the repeated file. */
  finish?(fixture: ActorsFixture, appId: number): Promise<void>
}

const repeated = ({ name, preemptions, isSerial = true, ...of }: RepeatedFile): Overlap => ({
  name: `a repeated file and ${name}`,
  ...{ isSerial, preemptions },
  async open(fixture): Promise<Scene> {
    const appId = await openApp(fixture, users)
    await importFile(fixture, appId, first, { keepChanges: true })
    await of.prepare?.(fixture, appId)
    const importId = await queueFile(fixture, appId, of.text ?? file)
    return {
      starts: await of.starts({ fixture, appId, importId }),
      async finish() {
        await finishImport(fixture, appId, importId)
        await of.finish?.(fixture, appId)
        const remains = await remainsOf(fixture, appId, [importId])
        const { rows_changed: changed } = await fixture.database.db
          .selectFrom('imports')
          .select('rows_changed')
          .where('import_id', '=', importId)
          .executeTakeFirstOrThrow()
        return { ...remains, ...(of.changed !== undefined && { changed }) }
      },
      check: (remains) => check(remains as Remains & { changed?: number }, of),
    }
  },
})

function check(
  { profiles, imports, changed }: Remains & { changed?: number },
  of: Omit<RepeatedFile, 'name' | 'preemptions'>,
): string[] {
  const left = JSON.stringify(users.map((user) => profiles[user]))
  const problems = of.leaves.includes(left) ? [] : [`profiles ${left}`]
  if (changed !== of.changed) problems.push(`${changed} rows changed`)
  const rows = (of.text ?? file).split('\n').length - 2
  const [ended] = imports
  if (ended?.state !== 'completed' || ended.rows_total !== rows || ended.rows_applied !== rows)
    problems.push(JSON.stringify(ended))
  return problems
}

const row = (k: string | undefined, l: string | undefined) => ({ k, l })
const known = row('a', 'b')
const profilesWith = (u4: unknown, u3: unknown = known) => JSON.stringify([known, known, u3, u4])

const run = (appId: number, importId: string) => claimAndRun(appId, importId, { rowByRow })
const update = (appId: number, userId: string): Start => ({
  name: 'updateProfile',
  argument: { appId, userId, entries: [{ key: 'k', type: 'string', value: 'later' }] },
})

/** A take-over of a repeated file by a worker that shuts down before the first one continues, and another action. */
const takeOver = (name: string, other?: { start: (appId: number) => Start; leaves: string }): Overlap =>
  repeated({
    name,
    // Rows that a worker has in flight or prepared when the other one takes over are not those of u3.
    text: `${first}u1,a,b\nu2,a,b\nu3,c,b\nu1,a,b\nu2,a,b\nu4,a,b\nu3,a,b\n`,
    ...{ preemptions: 1, ...(other === undefined && { changed: 2 }) },
    async starts({ fixture, appId, importId }) {
      const claimed = await claim(fixture, appId, importId)
      return [
        { name: 'runAgain', argument: { claim: claimed, rowByRow } },
        { name: 'takeOverBatches', argument: { appId, importId, rowByRow, batches: 5 } },
        ...(other === undefined ? [] : [other.start(appId)]),
      ]
    },
    leaves: [profilesWith(known), ...(other === undefined ? [] : [other.leaves])],
  })

/** The same with a third actor. */
export const knownRowTriple = takeOver('a take-over by a worker that shuts down, and a profile update', {
  start: (appId) => update(appId, 'u4'),
  leaves: profilesWith(row('later', 'b')),
})

/** Pairs of which one is the import of a repeated file. */
export const knownRowPairs: readonly Overlap[] = [
  repeated({
    name: 'a profile update of a known row',
    preemptions: 1,
    starts: async ({ appId, importId }) => [run(appId, importId), update(appId, 'u4')],
    leaves: [profilesWith(known), profilesWith(row('later', 'b'))],
  }),
  repeated({
    name: 'a profile update of a user whom it writes',
    preemptions: 1,
    starts: async ({ appId, importId }) => [run(appId, importId), update(appId, 'u3')],
    leaves: [profilesWith(known), profilesWith(known, row('later', 'b'))],
  }),
  repeated({
    name: 'the removal of a value',
    preemptions: 1,
    starts: async ({ appId, importId }) => [
      run(appId, importId),
      { name: 'removeValue', argument: { appId, userId: 'u4', key: 'k' } },
    ],
    leaves: [profilesWith(known), profilesWith({ l: 'b' })],
  }),
  repeated({
    name: 'the undo of an earlier file',
    preemptions: 1,
    starts: async ({ fixture, appId, importId }) => [
      run(appId, importId),
      { name: 'undo', argument: { appId, importId: await importOf(fixture, appId, 'asc') } },
    ],
    // The undo follows the repeated file in the order, whenever it is requested.
    finish: async (fixture, appId) => await finishImport(fixture, appId, await importOf(fixture, appId, 'desc')),
    leaves: [JSON.stringify([{}, {}, {}, {}])],
  }),
  repeated({
    name: 'a deletion',
    preemptions: 1,
    async starts({ fixture, appId, importId }) {
      await request(fixture, appId, ['u4'], schedule.accepted)
      return [run(appId, importId), { name: 'runDeletions', argument: { now: schedule.completion } }]
    },
    leaves: [profilesWith(undefined)],
  }),
  repeated({
    name: 'a deletion with a new registration',
    preemptions: 1,
    async starts({ fixture, appId, importId }) {
      await request(fixture, appId, ['u4'], schedule.accepted)
      const argument = { now: schedule.completion, appId, userId: 'u4' }
      return [run(appId, importId), { name: 'deleteAndRegister', argument }]
    },
    leaves: [profilesWith({})],
  }),
  repeated({
    name: 'the disabling of a key',
    preemptions: 1,
    text: file.replace('u4,a,b', 'u4,a,d'),
    starts: async ({ appId, importId }) => [
      run(appId, importId),
      { name: 'setKey', argument: { appId, key: 'l', enabled: false } },
    ],
    leaves: [profilesWith(known), profilesWith(row('a', 'd'))],
  }),
  repeated({
    name: 'the enabling of a key',
    // The values of the key are written from one of the batches on.
    ...{ preemptions: 1, isSerial: false },
    text: newValues,
    async prepare(fixture, appId) {
      await changeKeys(fixture.database.db, appId, { keys: ['l'], enabled: false }, 500)
      await importFile(fixture, appId, newValues.replace('u3,d,new\nu3,c,new\n', ''))
    },
    starts: async ({ appId, importId }) => [
      run(appId, importId),
      { name: 'setKey', argument: { appId, key: 'l', enabled: true } },
    ],
    // The last rows of the file are of u3.
    leaves: [
      ...[...users.keys(), users.length].map((from) =>
        JSON.stringify(users.map((_, user) => row('c', user < from ? 'b' : 'new'))),
      ),
      JSON.stringify(['b', 'b', 'new', 'b'].map((l) => row('c', l))),
    ],
  }),
  takeOver('a take-over by a worker that shuts down'),
]
