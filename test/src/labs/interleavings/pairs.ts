import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createApp } from '@sluice/accounts'
import { dispatchNextInOrder, resumeImports } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { request, schedule } from '../../deletions/deletion-fixture.ts'
import { claim, openApp, queueFile } from '../../imports/import-fixture.ts'
import { endLeases, finishImport, remainsOf } from './fixture.ts'
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
    await endLeases(fixture)
    return [{ name: 'run', argument: { claim: lost } }, claimAndRun(appId, importId)]
  },
})

const twoImports: Overlap = {
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
    { name: 'run', argument: { claim: await claim(fixture, appId, importId) } },
    { name: 'cancel', argument: { appId, importId } },
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

/** An approval of a held import, whose time for approval is over, and other actions. */
export const approval = (name: string, ...others: ((appId: number, importId: string) => Start)[]): Overlap => ({
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
      starts: [{ name: 'approve', argument: { appId, importId } }, ...others.map((other) => other(appId, importId))],
      async finish() {
        await finishImport(fixture, appId, importId)
        return await remainsOf(fixture, appId, [importId])
      },
    }
  },
})

const pause: Overlap = {
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

export const firstRequests = (name: string, count: number): Overlap => ({
  name: `${name} first requests with one idempotency key`,
  isSerial: false,
  preemptions: 3,
  async open(fixture) {
    const { db } = fixture.database
    const { appId, apiToken: token } = await createApp(db, { name: 'Test', email: 'member@example.com' })
    await registerUsers(db, appId, users)
    const checksum = createHash('md5').update(file).digest('base64')
    const argument = { token, key: 'key-1', body: { checksum, byte_size: String(file.length) } }
    return {
      starts: Array.from({ length: count }, () => ({ name: 'firstRequest', argument })),
      async finish() {
        const answers = fixture.actors.slice(0, count).flatMap(({ result, sessionsAtDeath }) => {
          assert(result === undefined || 'value' in result, JSON.stringify(result))
          if (result === undefined) return []
          const answer = result.value as { status: number; importId: string | null }
          // Its connections break an instant before the process ends: the error of one may still be answered.
          return sessionsAtDeath !== undefined && answer.status === 500 ? [] : [answer]
        })
        const rows = await db.selectFrom('imports').select('import_id').where('app_id', '=', appId).execute()
        return { answers, imports: rows.map((row) => row.import_id) }
      },
      check: (remains) => {
        const { answers, imports } = remains as {
          answers: { status: number; importId: string | null }[]
          imports: string[]
        }
        const hasAnswer = answers.some(({ status }) => status === 200)
        const isRight =
          (imports.length === 1 ? hasAnswer || answers.length < count : imports.length === 0 && !hasAnswer) &&
          (answers.length < count || hasAnswer) &&
          answers.every(({ status, importId }) => status === 409 || (status === 200 && importId === imports[0]))
        return isRight ? [] : [JSON.stringify(remains)]
      },
    }
  },
})

/** Every pair of actions whose overlap matters. */
export const pairs: readonly Overlap[] = [
  ...[claimed, abandoned, twoImports, newKey('int', 99, 1), newKey('string', 'old', 2), deletion],
  ...[cancel, maintenance, firstRequests('two', 2), pause],
  approval('another one', (appId, importId) => ({ name: 'approve', argument: { appId, importId } })),
  approval('a cancellation', (appId, importId) => ({ name: 'cancel', argument: { appId, importId } })),
  approval('the end of its time', (appId) => ({ name: 'maintain', argument: { appId } })),
]
