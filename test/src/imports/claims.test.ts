import { Readable } from 'node:stream'
import { claimImport, dispatchNextInOrder, runImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  queueFile,
  resultOf,
} from './import-fixture.ts'

// What happens when a worker dies, is stopped, is slow, or storage fails: nothing is lost, nothing is done twice.
let fixture: ImportFixture
let appId: number
const never = new AbortController().signal
const users = Array.from({ length: 40 }, (_, i) => `u${i}`)
const rows = users.map((user, i) => `${user},${i},${i % 7 === 0 ? 'x' : i}\n`).join('')
const file = `user_id,a,n\n${rows}`

beforeEach(async () => {
  fixture = await openImportFixture({ BATCH_ROWS: '5', INFERENCE_ROWS: '5', IMPORT_ATTEMPTS: '3' })
  appId = await openApp(fixture, users)
  // `n` is an int, so that every seventh row is invalid.
  await importFile(fixture, appId, 'user_id,n\nu1,1\n')
  return () => fixture.close()
})

/** Storage whose reads break off with an error after some bytes; `left` counts down the reads that do. */
function breakingReads(storage: Storage, bytes: number, left: { reads: number }): Storage {
  return {
    ...storage,
    async read(key, options) {
      const stream = await storage.read(key, options)
      if (left.reads-- <= 0) return stream
      const all = Buffer.concat(await stream.toArray())
      return Readable.from(
        (async function* () {
          for (let at = 0; at < bytes; at += 16) yield all.subarray(at, at + 16)
          throw new Error('connection reset')
        })(),
      )
    },
  }
}

/** The undisturbed run that every disturbed one must equal. */
async function undisturbed() {
  const reference = await openApp(fixture, users)
  await importFile(fixture, reference, 'user_id,n\nu1,1\n')
  const { view, errorFile } = await importFile(fixture, reference, file)
  return { view, errorFile, profiles: await profilesOf(fixture, reference) }
}

async function expectUndisturbed(importId: string): Promise<void> {
  const expected = await undisturbed()
  const { view, errorFile } = await resultOf(fixture, appId, importId)
  const { rows_total, rows_applied, rows_failed, state } = expected.view
  expect(view).toMatchObject({ rows_total, rows_applied, rows_failed, state })
  expect(errorFile).toEqual(expected.errorFile)
  expect(await profilesOf(fixture, appId)).toEqual(expected.profiles)
  const mails = await fixture.database.db.selectFrom('mails').select('event').where('app_id', '=', appId).execute()
  expect(mails.filter((mail) => mail.event === `import:${importId}`)).toHaveLength(1)
}

/** Lets the pause before another try be over. */
async function endBackOff(importId: string): Promise<void> {
  await fixture.database.db.updateTable('imports').set({ retry_at: null }).where('import_id', '=', importId).execute()
}

/** Lets the lease of a silent worker run out. */
async function loseLease(importId: string): Promise<void> {
  const past = new Date(Date.now() - 1000)
  await fixture.database.db
    .updateTable('imports')
    .set({ lease_until: past })
    .where('import_id', '=', importId)
    .execute()
}

describe('a worker that dies in the middle', () => {
  test('is replaced when its lease has run out; the next one goes on after the last committed batch', async () => {
    const importId = await queueFile(fixture, appId, file)
    // A worker that commits some batches and is never heard of again: it holds its claim as long as the lease runs.
    const dead = await claim(fixture, appId, importId)
    const storage = breakingReads(fixture.storage, 160, { reads: 3 })
    await runImport({ ...fixture.context, storage }, dead, never)
    await fixture.database.db
      .updateTable('imports')
      .set({ state: 'processing', retry_at: null, lease_until: new Date(Date.now() + 60_000) })
      .where('import_id', '=', importId)
      .execute()
    const before = (await resultOf(fixture, appId, importId)).view
    expect(before.rows_total).toBeGreaterThan(0)
    expect(before.rows_total).toBeLessThan(users.length)

    expect(await dispatchNextInOrder(fixture.context)).toEqual([])
    expect(await claimImport(fixture.context, { appId, importId })).toBeUndefined()
    await loseLease(importId)
    expect((await dispatchNextInOrder(fixture.context)).map((turn) => turn.importId)).toEqual([importId])
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    await expectUndisturbed(importId)
  })

  test('has settled types: they hold for its successor, also where no row has registered them yet', async () => {
    // The first rows, from which types are inferred, are of nobody who is registered: `t` is an int all the same.
    const strangers = Array.from({ length: 10 }, (_, i) => `stranger${i},${i}\n`).join('')
    const members = users.map((user, i) => `${user},${i === 1 ? 'x' : i}\n`).join('')
    const importId = await queueFile(fixture, appId, `user_id,t\n${strangers}${members}`)
    const storage = breakingReads(fixture.storage, 144, { reads: 3 })
    const { outcome } = await runImport({ ...fixture.context, storage }, await claim(fixture, appId, importId), never)
    expect(outcome).toBe('postponed')
    expect((await resultOf(fixture, appId, importId)).view.rows_total).toBe(10)
    await endBackOff(importId)
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    const { view, errorFile } = await resultOf(fixture, appId, importId)
    expect(view.types).toEqual({ t: 'int' })
    expect(errorFile?.toString()).toContain('t should be integer,u1,x\n')
  })

  test('but was only stopped: it cannot write behind its successor’s back', async () => {
    const importId = await queueFile(fixture, appId, file)
    const stopped = await claim(fixture, appId, importId)
    await loseLease(importId)
    const successor = await claim(fixture, appId, importId)
    expect(successor.attempt).toBe(stopped.attempt + 1)
    expect(await runImport(fixture.context, stopped, never)).toEqual({ outcome: 'lost' })
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ state: 'processing', rows_total: 0 })
    await runImport(fixture.context, successor, never)
    await expectUndisturbed(importId)
  })
})

describe('a worker that is stopped while it stores the error file', () => {
  test('leaves the good file of its successor alone when it wakes up', async () => {
    const importId = await queueFile(fixture, appId, file)
    const slow = await claim(fixture, appId, importId)
    let wakeUp = () => {}
    const asleep = new Promise<void>((resolve) => {
      wakeUp = resolve
    })
    let fellAsleep = () => {}
    const sleeping = new Promise<void>((resolve) => {
      fellAsleep = resolve
    })
    const storage: Storage = {
      ...fixture.storage,
      async writeStream(key, content, contentType) {
        fellAsleep()
        await asleep
        await fixture.storage.writeStream(key, content, contentType)
      },
    }
    const running = runImport({ ...fixture.context, storage }, slow, never)
    await sleeping
    await loseLease(importId)
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    wakeUp()
    expect(await running).toEqual({ outcome: 'lost' })
    await expectUndisturbed(importId)
  })
})

describe('a worker that is told to shut down', () => {
  test('finishes its batch, hands the import back, and that is no failed try', async () => {
    const importId = await queueFile(fixture, appId, file)
    const stop = new AbortController()
    stop.abort()
    for (let i = 0; i < 5; i++) {
      const handed = await runImport(fixture.context, await claim(fixture, appId, importId), stop.signal)
      expect(handed).toEqual({ outcome: 'interrupted' })
    }
    expect((await dispatchNextInOrder(fixture.context)).map((turn) => turn.importId)).toEqual([importId])
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    await expectUndisturbed(importId)
  })
})

describe('storage that fails', () => {
  test('in the middle of the file: the import is tried again and ends as if nothing had happened', async () => {
    const importId = await queueFile(fixture, appId, file)
    // The first try looks at the file twice before it reads the rows; the second one goes on with the rows at once.
    const storage = breakingReads(fixture.storage, file.length - 40, { reads: 4 })
    const outcomes: string[] = []
    while (outcomes.at(-1) !== 'completed' && outcomes.length < 5) {
      await endBackOff(importId)
      const { outcome } = await runImport({ ...fixture.context, storage }, await claim(fixture, appId, importId), never)
      outcomes.push(outcome)
    }
    expect(outcomes).toEqual(['postponed', 'postponed', 'completed'])
    await expectUndisturbed(importId)
  })

  test('every time: the import fails after IMPORT_ATTEMPTS tries, with a mail, and the next one goes on', async () => {
    const poisonous = await queueFile(fixture, appId, file)
    const next = await queueFile(fixture, appId, file)
    const storage = breakingReads(fixture.storage, 0, { reads: 1000 })
    const outcomes: string[] = []
    for (let i = 0; i < 3; i++) {
      const { outcome } = await runImport(
        { ...fixture.context, storage },
        await claim(fixture, appId, poisonous),
        never,
      )
      outcomes.push(outcome)
      expect(await claimImport(fixture.context, { appId, importId: poisonous })).toBeUndefined() // backs off
      await endBackOff(poisonous)
    }
    expect(outcomes).toEqual(['postponed', 'postponed', 'failed'])
    const { view } = await resultOf(fixture, appId, poisonous)
    expect(view).toMatchObject({ state: 'failed', error: 'could not be processed in 3 attempts', rows_total: 0 })
    expect((await dispatchNextInOrder(fixture.context)).map((turn) => turn.importId)).toEqual([next])
  })

  test('because storage is away: such tries do not count, however many there are', async () => {
    const importId = await queueFile(fixture, appId, file)
    const away: Storage = {
      ...breakingReads(fixture.storage, 0, { reads: 1000 }),
      check: async () => {
        throw new Error('connect ECONNREFUSED')
      },
    }
    for (let i = 0; i < 10; i++) {
      const { outcome } = await runImport(
        { ...fixture.context, storage: away },
        await claim(fixture, appId, importId),
        never,
      )
      expect(outcome).toBe('postponed')
      await endBackOff(importId)
    }
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    await expectUndisturbed(importId)
  })

  test('when the error file is to be stored: the import is not completed without it', async () => {
    const importId = await queueFile(fixture, appId, file)
    const full: Storage = {
      ...fixture.storage,
      writeStream: async () => {
        throw new Error('507 InsufficientStorage')
      },
    }
    const { outcome } = await runImport(
      { ...fixture.context, storage: full },
      await claim(fixture, appId, importId),
      never,
    )
    expect(outcome).toBe('postponed')
    await endBackOff(importId)
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    await expectUndisturbed(importId)
  })

  test('an upload of another size than declared is not imported', async () => {
    const importId = await queueFile(fixture, appId, file)
    await fixture.database.db
      .updateTable('imports')
      .set({ byte_size: file.length + 1, stored_size: file.length })
      .where('import_id', '=', importId)
      .execute()
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    const { view } = await resultOf(fixture, appId, importId)
    expect(view.error).toBe(`the uploaded file has ${file.length} bytes instead of ${file.length + 1}`)
  })

  test('a file that takes its worker down every time fails as well', async () => {
    const importId = await queueFile(fixture, appId, file)
    for (let i = 0; i < 3; i++) {
      await claim(fixture, appId, importId)
      await loseLease(importId)
    }
    const { outcome } = await runImport(fixture.context, await claim(fixture, appId, importId), never)
    expect(outcome).toBe('failed')
    expect((await resultOf(fixture, appId, importId)).view.error).toBe('could not be processed in 3 attempts')
  })

  test('a file that was replaced after its upload is not imported', async () => {
    const importId = await queueFile(fixture, appId, file)
    await fixture.storage.write(`apps/${appId}/imports/${importId}/upload`, Buffer.from(file.toUpperCase()), 'text/csv')
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    const { view } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ state: 'failed', error: 'the uploaded file was replaced', rows_total: 0 })
  })

  test('a file that is gone fails the import', async () => {
    const importId = await queueFile(fixture, appId, file)
    await fixture.storage.removeAll(`apps/${appId}/imports/${importId}/`)
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    const { view } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ state: 'failed', error: 'the uploaded file is gone' })
  })
})
