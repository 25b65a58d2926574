import { setImportDefaults } from '@sluice/accounts'
import type { ValueType } from '@sluice/contract'
import { queueStoredFile, runImport, uploadKey } from '@sluice/imports'
import { registeredKeys, registerKeys } from '@sluice/profiles'
import type { Storage } from '@sluice/storage'
import { describe, expect, test } from 'vitest'
import { eachWithApp, type ImportFixture, importFile, openApp, profilesOf } from './import-fixture.ts'

// The sender of a file declares types, and decides what happens to new columns. `model.property.test.ts` compares any
// mixture of declared, registered and inferred types with the model.
const app = eachWithApp(['u1', 'u2'], { BATCH_ROWS: '2', INFERENCE_ROWS: '2' })

const register = (keys: Record<string, ValueType>) =>
  app.db.transaction().execute((tx) => registerKeys(tx, app.appId, new Map(Object.entries(keys)), 500))

const keysOf = async () =>
  Object.fromEntries([...(await registeredKeys(app.db, app.appId))].map(([key, { type }]) => [key, type]))

/** The fixture with this many rows for inference, and larger batches. */
function withRows(inferenceRows: number): ImportFixture {
  const settings = { ...app.context.settings, INFERENCE_ROWS: inferenceRows, BATCH_ROWS: 100 }
  return { ...app.fixture, context: { ...app.context, settings } }
}

/** Storage that runs `work` when the file is read for the first time. */
function onRead(work: () => Promise<unknown>): Storage {
  let count = 0
  return {
    ...app.storage,
    async read(...args) {
      if (++count === 1) await work()
      return await app.storage.read(...args)
    },
  }
}

// second-day.md §1, Declared types.
describe('declared types', () => {
  test('are registered instead of inferred ones, and values keep their spelling', async () => {
    const { view } = await app.importFile('user_id,zip,n\nu1,007,007\n', {
      profileTypes: { zip: 'string' },
    })
    expect(view).toMatchObject({ state: 'completed', types: { zip: 'string', n: 'int' } })
    expect(await app.profiles()).toMatchObject({ u1: { zip: '007', n: 7 } })
    expect(await keysOf()).toEqual({ zip: 'string', n: 'int' })
  })

  test('refuse rows, and the error file says which type the sender wanted', async () => {
    const file = 'user_id,n\nu1,x\nu2,2\n'
    const { view, errorFile } = await app.importFile(file, { profileTypes: { n: 'int' } })
    expect(view).toMatchObject({ rows_applied: 1, rows_failed: 1, types: { n: 'int' } })
    expect(errorFile?.toString()).toBe('SERVICE_ERRORS,user_id,n\nn should be integer,u1,x\n')
  })

  test('a column without any value registers nothing, although its type is declared', async () => {
    const { view } = await app.importFile('user_id,zip,n\nu1,,1\n', { profileTypes: { zip: 'string' } })
    expect(view).toMatchObject({ state: 'completed', types: { zip: 'string', n: 'int' } })
    expect(await keysOf()).toEqual({ n: 'int' })
  })

  test('that are registered already are accepted; another type that was registered since the request is not', async () => {
    await register({ zip: 'string' })
    const file = 'user_id,zip,n\nu1,007,1\n'
    expect((await app.importFile(file, { profileTypes: { zip: 'string' } })).view.state).toBe('completed')
    for (const dryRun of [true, false]) {
      const { view } = await app.importFile(file, { profileTypes: { zip: 'int', n: 'decimal' }, dryRun })
      const error = 'zip is registered as string, n is registered as int'
      expect(view).toMatchObject({ state: 'failed', error, rows_total: 0 })
    }
  })

  test('a key that is registered with another type while the import runs fails it, before the row is applied', async () => {
    const importId = await app.queue('user_id,zip\nu1,007\n', 'text/csv', false, {
      profileTypes: { zip: 'string' },
    })
    const storage = onRead(() => register({ zip: 'int' }))
    const claimed = await app.claim(importId)
    expect(await app.run(claimed, { storage })).toMatchObject({ outcome: 'failed' })
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ error: 'zip is registered as int', rows_applied: 0 })
    expect(await app.profiles()).toEqual({ u1: {}, u2: {} })
  })

  test('hold for an import that another worker continues, even if no batch had a value yet', async () => {
    const rows = ['u1,,1', 'u2,,2', 'u1,,3', 'u2,,4', 'u1,007,5', 'u2,008,6']
    const file = ['user_id,zip,n', ...rows, ''].join('\n')
    const options = { profileTypes: { zip: 'string' } as const }
    const importId = await app.queue(file, 'text/csv', false, options)
    const shutdown = new AbortController()
    const context = { ...app.context, onBatch: () => shutdown.abort() }
    const first = await app.claim(importId)
    expect(await runImport(context, first, shutdown.signal)).toMatchObject({ outcome: 'interrupted' })
    await app.run(importId)
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ state: 'completed', rows_total: 6, types: { zip: 'string', n: 'int' } })
    expect(await app.profiles()).toEqual({ u1: { zip: '007', n: 5 }, u2: { zip: '008', n: 6 } })
  })

  test('a column that is declared and missing fails the file, and nothing is applied', async () => {
    const { view } = await app.importFile('user_id,zip\nu1,1\n', {
      profileTypes: { zipp: 'string', 'a\u0007': 'int' },
    })
    expect(view).toMatchObject({ state: 'failed', error: 'declared columns are missing: zipp, a\ufffd' })
    expect(await keysOf()).toEqual({})
  })

  test('the same row under another declared type is applied, and not skipped as known', async () => {
    const other = await openApp(app.fixture, ['u1'])
    const file = 'user_id,zip\nu1,7\n'
    await importFile(app.fixture, other, file, { profileTypes: { zip: 'string' } })
    expect(await profilesOf(app.fixture, other)).toEqual({ u1: { zip: '7' } })
    await app.importFile(file)
    expect(await app.profiles()).toMatchObject({ u1: { zip: 7 } })
  })
})

// second-day.md §1, New keys.
describe('refused new keys', () => {
  test('a file with columns that are neither registered nor declared fails, in a dry run too', async () => {
    await register({ known: 'int' })
    const options = { newKeys: 'refuse', profileTypes: { zip: 'string' } } as const
    const file = 'b,user_id,known,zip,a,SERVICE_ERRORS\n1,u1,1,007,,\n'
    for (const dryRun of [true, false]) {
      const { view } = await app.importFile(file, { ...options, dryRun })
      expect(view).toMatchObject({ state: 'failed', error: 'profile keys are not registered: b, a', rows_total: 0 })
    }
    expect(await keysOf()).toEqual({ known: 'int' })
  })

  test('a file with registered and declared columns is imported', async () => {
    await register({ known: 'int' })
    const { view } = await app.importFile('user_id,known,zip\nu1,1,007\n', {
      newKeys: 'refuse',
      profileTypes: { zip: 'string' },
    })
    expect(view.state).toBe('completed')
    expect(await app.profiles()).toMatchObject({ u1: { known: 1, zip: '007' } })
  })
})

test('an app that refuses new keys refuses them in files from the bucket as well', async () => {
  await setImportDefaults(app.db, app.appId, { new_keys: 'refuse' })
  const importId = crypto.randomUUID()
  const objectKey = uploadKey(app.appId, importId)
  await app.storage.write(objectKey, Buffer.from('user_id,a\nu1,1\n'), 'text/csv')
  const stat = await app.storage.stat(objectKey)
  await queueStoredFile(app.db, {
    ...{ appId: app.appId, importId, objectKey, source: 'bucket', contentType: 'text/csv', checksum: null },
    ...{
      etag: stat?.etag ?? '',
      byteSize: stat?.byteSize ?? 0,
      fileName: 'a.csv',
      sentAt: new Date().toISOString(),
      dataOrder: 1,
    },
    ...{ uploadHash: null, signatureHash: null },
  })
  // The setting at the time of the request counts, not the current setting.
  await setImportDefaults(app.db, app.appId, { new_keys: 'register' })
  await app.run(importId)
  const { view } = await app.resultOf(importId)
  expect(view).toMatchObject({ state: 'failed', error: 'profile keys are not registered: a', file_name: 'a.csv' })
})

// second-day.md §1, Warnings.
describe('warnings', () => {
  const zip = {
    key: 'zip',
    type: 'int',
    message: '1 of 2 values begin with 0, which int does not keep',
    examples: ['007'],
  }

  test('name values of the inference rows that lose their spelling, in the import and in its dry run', async () => {
    const file = 'user_id,name,zip\nu1,Ana,007\nu2,Bo,8\nu1,Ana,009\n'
    const dryRun = await app.importFile(file, { dryRun: true })
    expect(dryRun.view.warnings).toEqual([zip])
    expect(await keysOf()).toEqual({})
    expect((await app.importFile(file)).view.warnings).toEqual([zip])
    // The key is registered now, so its type is not inferred any more.
    expect((await app.importFile(file)).view.warnings).toEqual([])
  })

  test('name the few values that make a key a string, and date-times that only lack the T', async () => {
    const rows = Array.from({ length: 200 }, (_, at) => `u1,${at === 100 ? 'N/A' : at},2026-01-31 09:00:00+00\n`)
    const { view } = await importFile(withRows(1_000), app.appId, `user_id,visits,seen\n${rows.join('')}`, {
      dryRun: true,
    })
    expect(view.warnings).toEqual([
      {
        key: 'visits',
        type: 'string',
        message: '199 of 200 values are numbers; the others make the key a string',
        examples: ['N/A'],
      },
      {
        key: 'seen',
        type: 'string',
        message:
          '200 of 200 values are date-times that only lack the T or the colon of the offset, which makes the key a string',
        examples: ['2026-01-31 09:00:00+00'],
      },
    ])
  })

  test('there are none for declared types', async () => {
    const { view } = await app.importFile('user_id,zip\nu1,007\n', { profileTypes: { zip: 'int' } })
    expect(view).toMatchObject({ state: 'completed', warnings: [], types: { zip: 'int' } })
  })

  test('come later for a column whose first values do, and stay when another worker continues', async () => {
    const rows = ['u1,09,', 'u2,2,', 'u1,3,', 'u2,4,', 'u1,5,01', 'u2,6,02']
    const importId = await app.queue(['user_id,n,late', ...rows, ''].join('\n'))
    const shutdown = new AbortController()
    const context = { ...app.context, onBatch: () => shutdown.abort() }
    await runImport(context, await app.claim(importId), shutdown.signal)
    const early = [{ ...zip, key: 'n', examples: ['09'] }]
    expect((await app.resultOf(importId)).view.warnings).toEqual(early)
    await app.run(importId)
    const message = '2 of 2 values begin with 0, which int does not keep'
    const late = { ...zip, key: 'late', message, examples: ['01', '02'] }
    expect((await app.resultOf(importId)).view.warnings).toEqual([...early, late])
  })

  test('count the whole file if the first value that loses its spelling comes later, whoever continues', async () => {
    const rows = ['u1,1,1.5', 'u2,2,2', 'u1,-03,', 'u1,-03,x', 'u2,,+4', 'u2,+5,1e3', '"u1', 'u1,06,1234567890.1234567']
    const file = ['user_id,n,d', ...rows, ''].join('\n')
    const dryRun = await app.importFile(file, { dryRun: true })
    const importId = await app.queue(file)
    for (let claims = 0; claims < 2; claims++) {
      const shutdown = new AbortController()
      const context = { ...app.context, onBatch: () => shutdown.abort() }
      await runImport(context, await app.claim(importId), shutdown.signal)
    }
    await app.run(importId)
    const { view } = await app.resultOf(importId)
    const plus = { key: 'd', type: 'decimal', message: '1 of 6 values begin with +, which decimal does not keep' }
    const digits = 'have more than 15 significant digits, which decimal does not keep'
    expect(view.warnings).toEqual([
      { ...zip, key: 'n', message: '3 of 6 values begin with 0, which int does not keep', examples: ['-03', '06'] },
      { ...zip, key: 'n', message: '1 of 6 values begin with +, which int does not keep', examples: ['+5'] },
      { ...plus, examples: ['+4'] },
      { ...plus, message: `1 of 6 values ${digits}`, examples: ['1234567890.1234567'] },
    ])
    expect(dryRun.view.warnings).toEqual(view.warnings)
    // The keys are registered now, so their types are not inferred any more.
    expect((await app.importFile(file)).view.warnings).toEqual([])
  })

  test('there are none if another request registers the key with another type meanwhile', async () => {
    const importId = await app.queue('user_id,zip\nu1,007\n')
    const storage = onRead(() => register({ zip: 'string' }))
    await app.run(importId, { storage })
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ state: 'completed', types: { zip: 'string' }, warnings: [] })
  })

  test('the mail has the warnings without their examples', async () => {
    const { view } = await app.importFile('user_id,zip\nu1,007\nu2,8\n')
    const mail = await app.db
      .selectFrom('mails')
      .select('text')
      .where('event', '=', `import:${view.import_id}`)
      .executeTakeFirstOrThrow()
    expect(mail.text).toContain(`“zip”: ${zip.message}`)
    expect(mail.text.replace(view.import_id, '')).not.toContain('007')
  })
})
