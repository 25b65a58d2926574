import { resumeImports } from '@sluice/imports'
import { request, runAt, schedule } from '../../deletions/deletion-fixture.ts'
import { claim, importFile, openApp, queueFile } from '../../imports/import-fixture.ts'
import { type ActorsFixture, finishImport, importOf, remainsOf } from './fixture.ts'
import { knownRowTriple } from './known-row-pairs.ts'
import {
  checkCancelled,
  checkCompleted,
  claimAndRun,
  file,
  type Overlap,
  onOneImport,
  openImport,
  type Remains,
  type Start,
  users,
} from './overlap.ts'
import { approval, firstRequests } from './pairs.ts'

/** A worker that runs an import, and the worker that takes it over. */
async function takeOver(fixture: ActorsFixture, appId: number, importId: string): Promise<Start[]> {
  const claimed = await claim(fixture, appId, importId)
  return [
    { name: 'run', argument: { claim: claimed } },
    { name: 'takeOver', argument: { appId, importId } },
  ]
}

const cancelledTakeOver = onOneImport({
  name: 'a worker whose lease ran out, its successor, and a cancellation',
  ...{ isSerial: false, preemptions: 1, check: checkCancelled },
  starts: async ({ fixture, appId, importId }) => [
    ...(await takeOver(fixture, appId, importId)),
    { name: 'cancel', argument: { appId, importId } },
  ],
})

const updatedTakeOver = onOneImport({
  name: 'a worker whose lease ran out, its successor, and a profile update of a new key',
  ...{ isSerial: true, preemptions: 1 },
  starts: async ({ fixture, appId, importId }) => [
    ...(await takeOver(fixture, appId, importId)),
    { name: 'updateProfile', argument: { appId, userId: 'u1', entries: [{ key: 'age', type: 'int', value: 99 }] } },
  ],
})

const deletion: Overlap = {
  name: 'an import, a profile update and a deletion of one user',
  ...{ isSerial: true, preemptions: 1 },
  async open(fixture) {
    const { appId, importId, finish } = await openImport(fixture)
    await request(fixture, appId, ['u1'], schedule.accepted)
    return {
      starts: [
        claimAndRun(appId, importId),
        { name: 'updateProfile', argument: { appId, userId: 'u1', entries: [{ key: 'age', type: 'int', value: 99 }] } },
        { name: 'runDeletions', argument: { now: schedule.completion } },
      ],
      async finish() {
        await runAt(fixture, schedule.completion)
        return await finish()
      },
      check: (remains) => ('u1' in (remains as Remains).profiles ? ['the deleted user is there'] : []),
    }
  },
}

/** An undo changes back only what the following import left. */
const undo: Overlap = {
  name: 'an import, maintenance, and the undo of the preceding import',
  ...{ isSerial: false, preemptions: 1 },
  async open(fixture) {
    const appId = await openApp(fixture, users)
    await importFile(fixture, appId, 'user_id,age\nu1,33\nu3,33\n', { keepChanges: true })
    const undone = await importOf(fixture, appId, 'asc')
    const importId = await queueFile(fixture, appId, file)
    return {
      starts: [
        claimAndRun(appId, importId),
        { name: 'maintain', argument: { appId } },
        { name: 'undo', argument: { appId, importId: undone } },
      ],
      async finish() {
        await finishImport(fixture, appId, importId)
        const last = await importOf(fixture, appId, 'desc')
        if (last !== importId) await finishImport(fixture, appId, last)
        return await remainsOf(fixture, appId, last === importId ? [importId] : [importId, last])
      },
      check(remains) {
        const { profiles, imports } = remains as Remains
        // The actor may have died before it requested the undo.
        const [, undoing] = imports
        const isLeft = JSON.stringify(profiles) === JSON.stringify(undoing ? afterUndo : withoutUndo)
        const areCounted = imports.map(({ state, rows_applied, rows_failed }) =>
          [state, rows_applied, rows_failed].join(),
        )
        const isCounted = areCounted.join(' ') === `completed,2,1${undoing ? ' completed,1,1' : ''}`
        return isLeft && isCounted ? [] : [`${areCounted.join(' ')} ${JSON.stringify(profiles)}`]
      },
    }
  },
}
const afterUndo = { u1: { age: 34 }, u2: { age: 35 }, u3: {} }
const withoutUndo = { ...afterUndo, u3: { age: 33 } }

const pause = onOneImport({
  name: 'an import that is released, a pause and another worker',
  ...{ isSerial: false, preemptions: 1, check: checkCompleted },
  async starts({ appId, importId }) {
    return [
      claimAndRun(appId, importId, { rowByRow: true }),
      { name: 'pause', argument: { appId } },
      claimAndRun(appId, importId, { rowByRow: true }),
    ]
  },
  beforeEnd: async ({ fixture, appId }) => void (await resumeImports(fixture.database.db, appId)),
})

const twoImports: Overlap = {
  name: 'two workers, two imports of one app, and a cancellation of the first one',
  ...{ isSerial: false, preemptions: 1 },
  async open(fixture) {
    const appId = await openApp(fixture, users)
    const first = await queueFile(fixture, appId, file)
    const second = await queueFile(fixture, appId, 'user_id,age\nu1,36\n')
    return {
      starts: [
        claimAndRun(appId, first),
        claimAndRun(appId, second),
        { name: 'cancel', argument: { appId, importId: first } },
      ],
      async finish() {
        for (const importId of [first, second]) await finishImport(fixture, appId, importId)
        return await remainsOf(fixture, appId, [first, second])
      },
      check(remains) {
        const { imports, profiles } = remains as Remains
        const [one, other] = imports
        const hasFirst = profiles.u2?.age === 35
        const isRight =
          other?.state === 'completed' &&
          profiles.u1?.age === 36 &&
          one?.rows_applied === (hasFirst ? 2 : 0) &&
          (hasFirst || one.state === 'cancelled')
        return isRight ? [] : [JSON.stringify(remains)]
      },
    }
  },
}

/** Actions of three actors, in places where mechanisms meet. In some orders, one of the actors dies. */
export const triples: readonly Overlap[] = [
  ...[cancelledTakeOver, updatedTakeOver, deletion, undo, pause, twoImports],
  approval(
    'a cancellation and the end of its time',
    (appId, importId) => ({ name: 'cancel', argument: { appId, importId } }),
    (appId) => ({ name: 'maintain', argument: { appId } }),
  ),
  firstRequests('three', 3),
  knownRowTriple,
]
