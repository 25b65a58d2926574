import { Readable } from 'node:stream'
import { dispatchNextInOrder, runImport } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { endLease, endPause } from './forced-states.ts'
import { eachWithApp, importFile, openApp, profilesOf } from './import-fixture.ts'

// If a worker dies, is paused or is slow, or if storage fails, nothing is lost, and nothing is done twice.
const users = Array.from({ length: 40 }, (_, i) => `u${i}`)
const rows = users.map((user, i) => `${user},${i},${i % 7 === 0 ? 'x' : i}\n`).join('')
const file = `user_id,a,n\n${rows}`
const app = eachWithApp(users, { BATCH_ROWS: '5', INFERENCE_ROWS: '5', IMPORT_ATTEMPTS: '3' })
// Registers `n` as an int, so that every seventh row is invalid.
beforeEach(async () => void (await app.importFile('user_id,n\nu1,1\n')))

/** Storage whose reads fail after some bytes; `left` counts down the reads that fail. */
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

/** Returns the result of an undisturbed run, which every disturbed run must equal. */
async function undisturbed() {
  const reference = await openApp(app.fixture, users)
  await importFile(app.fixture, reference, 'user_id,n\nu1,1\n')
  const { view, errorFile } = await importFile(app.fixture, reference, file)
  return { view, errorFile, profiles: await profilesOf(app.fixture, reference) }
}

async function expectUndisturbed(importId: string): Promise<void> {
  const expected = await undisturbed()
  const { view, errorFile } = await app.resultOf(importId)
  const { rows_total, rows_applied, rows_failed, state } = expected.view
  expect(view).toMatchObject({ rows_total, rows_applied, rows_failed, state })
  expect(errorFile).toEqual(expected.errorFile)
  expect(await app.profiles()).toEqual(expected.profiles)
  expect(await mailSubjects(importId)).toHaveLength(1)
}

/** Returns the subjects of the mails about an import. */
async function mailSubjects(importId: string): Promise<string[]> {
  const mails = await app.db
    .selectFrom('mails')
    .select('subject')
    .where('app_id', '=', app.appId)
    .where('event', '=', `import:${importId}`)
    .execute()
  return mails.map(({ subject }) => subject)
}

describe('a worker that dies in the middle', () => {
  test('is replaced when its lease has run out; its successor continues after the last committed batch', async () => {
    const importId = await app.queue(file)
    // The worker commits some batches and stops for good. It holds its claim until the lease runs out.
    const dead = await app.claim(importId)
    const storage = breakingReads(app.storage, 160, { reads: 3 })
    await app.run(dead, { storage })
    await app.db
      .updateTable('imports')
      .set({ state: 'processing', retry_at: null, lease_until: new Date(Date.now() + 60_000) })
      .where('import_id', '=', importId)
      .execute()
    const before = (await app.resultOf(importId)).view
    expect(before.rows_total).toBeGreaterThan(0)
    expect(before.rows_total).toBeLessThan(users.length)

    expect(await dispatchNextInOrder(app.context)).toEqual([])
    expect(await app.tryToClaim(importId)).toBeUndefined()
    await endLease(app.db, importId)
    expect((await dispatchNextInOrder(app.context)).map((next) => next.importId)).toEqual([importId])
    await app.run(importId)
    await expectUndisturbed(importId)
  })

  test('has settled types: its successor uses them even if no row has registered them yet', async () => {
    // Types are inferred from the first rows. Although these rows are of unregistered users, `t` is an int.
    const strangers = Array.from({ length: 10 }, (_, i) => `stranger${i},${i}\n`).join('')
    const members = users.map((user, i) => `${user},${i === 1 ? 'x' : i}\n`).join('')
    const importId = await app.queue(`user_id,t\n${strangers}${members}`)
    const storage = breakingReads(app.storage, 144, { reads: 3 })
    const { outcome } = await app.run(importId, { storage })
    expect(outcome).toBe('postponed')
    expect((await app.resultOf(importId)).view.rows_total).toBe(10)
    await endPause(app.db, importId)
    await app.run(importId)
    const { view, errorFile } = await app.resultOf(importId)
    expect(view.types).toEqual({ t: 'int' })
    expect(errorFile?.toString()).toContain('t should be integer,u1,x\n')
  })

  // design.md §4, One owner.
  test('but was only paused cannot write once its successor has claimed the import', async () => {
    const importId = await app.queue(file)
    const warn = vi.spyOn(app.context.log, 'warn')
    const stopped = await app.claim(importId)
    expect(warn).not.toHaveBeenCalled()
    await endLease(app.db, importId)
    const successor = await app.claim(importId)
    expect(warn.mock.calls).toEqual([
      [{ app_id: app.appId, import_id: importId, attempt: successor.attempt }, expect.stringMatching('taken over')],
    ])
    expect(successor.attempt).toBe(stopped.attempt + 1)
    expect(await app.run(stopped)).toEqual({ outcome: 'lost' })
    expect((await app.resultOf(importId)).view).toMatchObject({ state: 'processing', rows_total: 0 })
    await app.run(successor)
    await expectUndisturbed(importId)
  })
})

describe('a worker that is paused while it stores the error file', () => {
  test('leaves its successor’s complete error file unchanged when it wakes up', async () => {
    const importId = await app.queue(file)
    const slow = await app.claim(importId)
    let wakeUp = () => {}
    const asleep = new Promise<void>((resolve) => {
      wakeUp = resolve
    })
    let fellAsleep = () => {}
    const sleeping = new Promise<void>((resolve) => {
      fellAsleep = resolve
    })
    const storage: Storage = {
      ...app.storage,
      async writeStream(key, content, contentType) {
        fellAsleep()
        await asleep
        await app.storage.writeStream(key, content, contentType)
      },
    }
    const running = app.run(slow, { storage })
    await sleeping
    await endLease(app.db, importId)
    await app.run(importId)
    wakeUp()
    expect(await running).toEqual({ outcome: 'lost' })
    await expectUndisturbed(importId)
  })
})

describe('a worker that shuts down', () => {
  test('finishes its batch and releases the import, which does not count as a failed try', async () => {
    const importId = await app.queue(file)
    const stop = new AbortController()
    stop.abort()
    for (let i = 0; i < 5; i++) {
      const ended = await runImport(app.context, await app.claim(importId), stop.signal)
      expect(ended).toEqual({ outcome: 'interrupted' })
    }
    expect((await dispatchNextInOrder(app.context)).map((next) => next.importId)).toEqual([importId])
    await app.run(importId)
    await expectUndisturbed(importId)
  })
})

describe('storage that fails', () => {
  test('in the middle of the file: the import is tried again and ends like an undisturbed one', async () => {
    const importId = await app.queue(file)
    // The first try opens the file twice before it reads the rows; the second one reads rows at once.
    const storage = breakingReads(app.storage, file.length - 40, { reads: 4 })
    const outcomes: string[] = []
    while (outcomes.at(-1) !== 'completed' && outcomes.length < 5) {
      await endPause(app.db, importId)
      const { outcome } = await app.run(importId, { storage })
      outcomes.push(outcome)
    }
    expect(outcomes).toEqual(['postponed', 'postponed', 'completed'])
    await expectUndisturbed(importId)
  })

  // design.md §4, 8.
  test('every time: the import fails after IMPORT_ATTEMPTS tries, with a mail, and the following import is next in order', async () => {
    const poisonous = await app.queue(file)
    const next = await app.queue(file)
    const storage = breakingReads(app.storage, 0, { reads: 1000 })
    const outcomes: string[] = []
    for (let i = 0; i < 3; i++) {
      const { outcome } = await app.run(poisonous, { storage })
      outcomes.push(outcome)
      expect(await app.tryToClaim(poisonous)).toBeUndefined() // it waits for its retry
      await endPause(app.db, poisonous)
    }
    expect(outcomes).toEqual(['postponed', 'postponed', 'failed'])
    const { view } = await app.resultOf(poisonous)
    expect(view).toMatchObject({ state: 'failed', error: 'could not be processed in 3 attempts', rows_total: 0 })
    expect(await mailSubjects(poisonous)).toEqual([
      'Profile import failed: could not be processed in 3 attempts · “Test”',
    ])
    expect((await dispatchNextInOrder(app.context)).map((next) => next.importId)).toEqual([next])
  })

  test('in an outage: tries during it do not count, however many there are', async () => {
    const importId = await app.queue(file)
    const unreachable: Storage = {
      ...breakingReads(app.storage, 0, { reads: 1000 }),
      check: async () => {
        throw new Error('connect ECONNREFUSED')
      },
    }
    for (let i = 0; i < 10; i++) {
      const { outcome } = await app.run(importId, { storage: unreachable })
      expect(outcome).toBe('postponed')
      await endPause(app.db, importId)
    }
    await app.run(importId)
    await expectUndisturbed(importId)
  })

  test('when the error file is stored: the import is not completed without it', async () => {
    const importId = await app.queue(file)
    const full: Storage = {
      ...app.storage,
      writeStream: async () => {
        throw new Error('507 InsufficientStorage')
      },
    }
    const { outcome } = await app.run(importId, { storage: full })
    expect(outcome).toBe('postponed')
    await endPause(app.db, importId)
    await app.run(importId)
    await expectUndisturbed(importId)
  })

  // design.md §3, Sizes.
  test('an upload of another size than declared is not imported', async () => {
    const importId = await app.queue(file)
    await app.db
      .updateTable('imports')
      .set({ byte_size: file.length + 1, stored_size: file.length })
      .where('import_id', '=', importId)
      .execute()
    await app.run(importId)
    const { view } = await app.resultOf(importId)
    expect(view.error).toBe(`the uploaded file has ${file.length} bytes instead of ${file.length + 1}`)
  })

  test('a file that crashes its worker every time fails as well', async () => {
    const importId = await app.queue(file)
    for (let i = 0; i < 3; i++) {
      await app.claim(importId)
      await endLease(app.db, importId)
    }
    const { outcome } = await app.run(importId)
    expect(outcome).toBe('failed')
    expect((await app.resultOf(importId)).view.error).toBe('could not be processed in 3 attempts')
  })

  test('a file that was replaced after its upload is not imported', async () => {
    const importId = await app.queue(file)
    await app.storage.write(`apps/${app.appId}/imports/${importId}/upload`, Buffer.from(file.toUpperCase()), 'text/csv')
    await app.run(importId)
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ state: 'failed', error: 'the uploaded file was replaced', rows_total: 0 })
  })

  test('a file that is gone fails the import', async () => {
    const importId = await app.queue(file)
    await app.storage.removeAll(`apps/${app.appId}/imports/${importId}/`)
    await app.run(importId)
    const { view } = await app.resultOf(importId)
    expect(view).toMatchObject({ state: 'failed', error: 'the uploaded file is gone' })
  })
})
