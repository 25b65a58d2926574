import { runImport } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  type Result,
  resultOf,
} from './import-fixture.ts'

// A dry run makes every check and the whole report, but applies nothing.
// `model.property.test.ts` compares its report to the report of an import.
const fixture = openBeforeEach(() =>
  openImportFixture({ BATCH_ROWS: '2', INFERENCE_ROWS: '2', PROFILE_KEY_LIMIT: String(keyLimit) }),
)
let appId: number
const noShutdown = new AbortController().signal
const keyLimit = 4

beforeEach(async () => {
  appId = await openApp(fixture, ['u1', 'u2'])
})

const mailOf = async (importId: string) =>
  await fixture.database.db
    .selectFrom('mails')
    .select(['subject', 'text'])
    .where('event', '=', `import:${importId}`)
    .executeTakeFirstOrThrow()

test('its mail says that nothing was applied, and links the error file', async () => {
  const { view, errorFile } = await importFile(fixture, appId, 'user_id,a\nu1,1\nu2,2\nghost,3\n', { dryRun: true })
  expect(errorFile?.toString()).toBe('SERVICE_ERRORS,user_id,a\nuser_id is unregistered user,ghost,3\n')
  const mail = await mailOf(view.import_id)
  expect(mail.subject).toBe('Profile dry run completed: 2 rows without errors, 1 row with errors · “Test”')
  expect(mail.text).toContain('nothing was applied')
  expect(mail.text).toContain(view.error_file_url)
})

// design.md §3, Dry run, cancel.
test('keys that later batches would register count against the limit, as in the import', async () => {
  // `late1` and `late2` have their first values in the second batch, `late3` in the third one.
  const rows = ['u1,1,1,,,', 'u2,1,1,,,', 'u1,1,1,x,y,', 'u2,1,1,x,y,', 'u1,1,1,x,y,z', '']
  const file = ['user_id,a,b,late1,late2,late3', ...rows].join('\n')
  const dryRun = await importFile(fixture, appId, file, { dryRun: true })
  expect(await registeredKeys(fixture.database.db, appId)).toEqual(new Map())
  const { view } = await importFile(fixture, appId, file)
  expect(view).toMatchObject({ state: 'failed', rows_total: 4, error: expect.stringContaining(`(${keyLimit})`) })
  expect(dryRun.view).toMatchObject({
    state: view.state,
    error: view.error,
    rows_total: view.rows_total,
    rows_applied: 0,
  })
})

test('a key that another request registers meanwhile is checked with its registered type', async () => {
  const file = 'user_id,a\nu1,1\nu2,2\nu1,3\nu2,4\n'
  const importId = await queueFile(fixture, appId, file, 'text/csv', true)
  const claimed = await claim(fixture, appId, importId)
  const storage: ImportFixture['storage'] = {
    ...fixture.storage,
    async read(key, options) {
      const stream = await fixture.storage.read(key, options)
      // After the inspection of the file, and before its rows are read.
      if ((options?.from ?? 0) > 0) {
        await fixture.database.db
          .insertInto('profile_keys')
          .values({ app_id: appId, key: 'a', type: 'datetime' })
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      }
      return stream
    },
  }
  await runImport({ ...fixture.context, storage }, claimed, noShutdown)
  expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ rows_failed: 4, types: { a: 'datetime' } })
})

// design.md §3, Dry run, cancel.
test('a worker that does not know dry runs cannot apply one: its batches are refused', async () => {
  const importId = await queueFile(fixture, appId, 'user_id,a\nu1,1\n', 'text/csv', true)
  const unaware = { ...(await claim(fixture, appId, importId)), dryRun: false }
  expect(await runImport(fixture.context, unaware, noShutdown)).toEqual({ outcome: 'postponed' })
  expect(await profilesOf(fixture, appId)).toEqual({ u1: {}, u2: {} })
  expect(await registeredKeys(fixture.database.db, appId)).toEqual(new Map())
})

describe('a dry run that several workers continue one after another ends like an undisturbed one', () => {
  test.each([
    ['every batch', 1],
    ['every second batch', 2],
  ])('after %s', async (_, batches) => {
    // Five keys, each with its first values in another batch: only the keys of all batches together exceed the limit.
    const rows = ['u1,1,,,,', 'u2,1,,,,', 'u1,,1,,,', 'u2,,1,,,', 'u1,,,1,,', 'u2,,,1,,', 'u1,,,,1,', 'u1,,,,,1', '']
    const file = ['user_id,a,b,c,d,e', ...rows].join('\n')
    const undisturbed = await importFile(fixture, appId, file, { dryRun: true })
    expect(undisturbed.view).toMatchObject({ state: 'failed', rows_total: 6 })
    expectSameVerdict(await runByManyWorkers(file, batches), undisturbed)
  })

  test('if another request registers a key that an earlier batch would have registered', async () => {
    const file = 'user_id,a\nu1,1\nu2,2\nu1,3\nu2,4\n'
    const undisturbed = await importFile(fixture, appId, file, { dryRun: true })
    expect(undisturbed.view).toMatchObject({ state: 'completed', rows_failed: 0, types: { a: 'int' } })
    const between = async () => {
      const key = { app_id: appId, key: 'a', type: 'datetime' } as const
      await fixture.database.db.insertInto('profile_keys').values(key).execute()
    }
    expectSameVerdict(await runByManyWorkers(file, 1, between), undisturbed)
  })

  test('wherever the keys have their first values', async () => {
    const keys = ['a', 'b', 'c', 'd', 'e', 'ü "1", 2']
    // Most cells are empty, so that keys have their first values in different batches.
    const value = fc.constantFrom('1', 'x', '2.5', '2026-01-01')
    const cell = fc.oneof({ weight: 7, arbitrary: fc.constant('') }, { weight: 1, arbitrary: value })
    const user = fc.constantFrom('u1', 'u2', 'u2', 'u1', 'ghost')
    const row = fc.tuple(user, fc.array(cell, { minLength: 6, maxLength: 6 }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 4, maxLength: 16 }),
        fc.integer({ min: 1, max: 3 }),
        async (rows, batches) => {
          appId = await openApp(fixture, ['u1', 'u2'])
          const header = ['user_id', ...keys].map((name) => `"${name.replaceAll('"', '""')}"`).join(',')
          const file = [header, ...rows.map(([user, cells]) => [user, ...cells].join(',')), ''].join('\n')
          const undisturbed = await importFile(fixture, appId, file, { dryRun: true })
          expectSameVerdict(await runByManyWorkers(file, batches), undisturbed)
        },
      ),
      { numRuns: propertyRuns(30) },
    )
  })

  /**
   * Runs a dry run by many workers. Each worker releases the import after `batches` batches. Calls `between` after the
   * first worker.
   */
  async function runByManyWorkers(file: string, batches: number, between = async () => {}): Promise<Result> {
    const importId = await queueFile(fixture, appId, file, 'text/csv', true)
    const outcomes: string[] = []
    do {
      const stop = new AbortController()
      let committed = 0
      const onBatch = () => {
        if (++committed === batches) stop.abort()
      }
      const claimed = await claim(fixture, appId, importId)
      outcomes.push((await runImport({ ...fixture.context, onBatch }, claimed, stop.signal)).outcome)
      if (outcomes.length === 1) await between()
    } while (outcomes.at(-1) === 'interrupted')
    return await resultOf(fixture, appId, importId)
  }

  function expectSameVerdict(result: Result, undisturbed: Result): void {
    const { state, error, types, rows_total, rows_failed } = undisturbed.view
    expect(result.view).toMatchObject({ state, error, types, rows_total, rows_failed })
    expect(result.errorFile).toEqual(undisturbed.errorFile)
  }
})
