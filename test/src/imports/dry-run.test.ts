import { runImport } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import { beforeEach, expect, test } from 'vitest'
import { claim, importFile, openApp, openWorkshop, profilesOf, queueFile, resultOf, type Workshop } from './workshop.ts'

// A dry run: every check, the whole report, and nothing applied. `model.test.ts` compares its report with an import's.
let workshop: Workshop
let appId: number
const never = new AbortController().signal
const keyLimit = 4

beforeEach(async () => {
  workshop = await openWorkshop({ BATCH_ROWS: '2', INFERENCE_ROWS: '2', PROFILE_KEY_LIMIT: String(keyLimit) })
  appId = await openApp(workshop, ['u1', 'u2'])
  return () => workshop.close()
})

const mailOf = async (importId: string) =>
  await workshop.database.db
    .selectFrom('mails')
    .select(['subject', 'text'])
    .where('event', '=', `import:${importId}`)
    .executeTakeFirstOrThrow()

test('its mail says that nothing was applied, and leads to the error file', async () => {
  const { view, errorFile } = await importFile(workshop, appId, 'user_id,a\nu1,1\nu2,2\nghost,3\n', { dryRun: true })
  expect(errorFile?.toString()).toBe('SERVICE_ERRORS,user_id,a\nuser_id is unregistered user,ghost,3\n')
  const mail = await mailOf(view.import_id)
  expect(mail.subject).toBe('Profile dry run completed: 2 rows without errors, 1 row with errors')
  expect(mail.text).toContain('nothing was applied')
  expect(mail.text).toContain(view.error_file_url)
})

test('keys that later batches would register count against the limit, as in the import', async () => {
  // `late1` and `late2` have their first values in the second batch, `late3` in the third one.
  const rows = ['u1,1,1,,,', 'u2,1,1,,,', 'u1,1,1,x,y,', 'u2,1,1,x,y,', 'u1,1,1,x,y,z', '']
  const file = ['user_id,a,b,late1,late2,late3', ...rows].join('\n')
  const dryRun = await importFile(workshop, appId, file, { dryRun: true })
  expect(await registeredKeys(workshop.database.db, appId)).toEqual(new Map())
  const { view } = await importFile(workshop, appId, file)
  expect(view).toMatchObject({ state: 'failed', rows_total: 4, error: expect.stringContaining(`(${keyLimit})`) })
  expect(dryRun.view).toMatchObject({
    state: view.state,
    error: view.error,
    rows_total: view.rows_total,
    rows_applied: 0,
  })
})

test('a key that is registered meanwhile is checked as what it is registered as', async () => {
  const file = 'user_id,a\nu1,1\nu2,2\nu1,3\nu2,4\n'
  const importId = await queueFile(workshop, appId, file, 'text/csv', true)
  const held = await claim(workshop, appId, importId)
  const storage: Workshop['storage'] = {
    ...workshop.storage,
    async read(key, options) {
      const stream = await workshop.storage.read(key, options)
      // After the first look at the file, and before its rows.
      if ((options?.from ?? 0) > 0) {
        await workshop.database.db
          .insertInto('profile_keys')
          .values({ app_id: appId, key: 'a', type: 'datetime' })
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      }
      return stream
    },
  }
  await runImport({ ...workshop.context, storage }, held, never)
  expect((await resultOf(workshop, appId, importId)).view).toMatchObject({ rows_failed: 4, types: { a: 'datetime' } })
})

test('a worker that knows of no dry runs cannot apply one: its batches are refused', async () => {
  const importId = await queueFile(workshop, appId, 'user_id,a\nu1,1\n', 'text/csv', true)
  const unaware = { ...(await claim(workshop, appId, importId)), dryRun: false }
  expect(await runImport(workshop.context, unaware, never)).toEqual({ outcome: 'postponed' })
  expect(await profilesOf(workshop, appId)).toEqual({ u1: {}, u2: {} })
  expect(await registeredKeys(workshop.database.db, appId)).toEqual(new Map())
})
