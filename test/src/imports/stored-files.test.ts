import { sql } from '@sluice/database'
import {
  cancelImport,
  followFileLink,
  noticeUploads,
  removeOldFiles,
  reportCancelled,
  requestImport,
} from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import { beforeEach, describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { unfinishedUploads } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import { changeImport, endDaysAgo } from './forced-states.ts'
import { importFile, openApp, openImportFixture, queueFile } from './import-fixture.ts'

// How long an import's files can be read, and when they are removed.
const fixture = openBeforeEach(openImportFixture)
let appId: number
const file = 'user_id,a\nu1,1\nnobody,2\n'
const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

beforeEach(async () => {
  appId = await openApp(fixture, ['u1'])
})

describe('stored files', () => {
  /**
   * Runs an import with errors. Returns its ID, the token of its link, and how long after its end the link expires, ms.
   */
  async function importWithErrors(environment: { FILE_RETENTION_DAYS?: number } = {}) {
    const settings = { ...fixture.context.settings, ...environment }
    const { view } = await importFile({ ...fixture, context: { ...fixture.context, settings } }, appId, file)
    const { file_links_expire_at: expiresAt, finished_at: finishedAt } = await fixture.database.db
      .selectFrom('imports')
      .select(['file_links_expire_at', 'finished_at'])
      .where('import_id', '=', view.import_id)
      .executeTakeFirstOrThrow()
    const token = view.error_file_url?.split('/').at(-1) ?? ''
    return { importId: view.import_id, token, linkMs: Number(expiresAt) - Number(finishedAt) }
  }

  const follow = (token: string) =>
    followFileLink({ db: fixture.database.db, storage: fixture.storage }, 'errors', token)

  /** Lets time pass for an import's link and files. */
  async function passTime(importId: string, ms: number): Promise<void> {
    const earlier = (column: string) => sql<Date>`${sql.ref(column)} - make_interval(secs => ${ms / 1000}::float8)`
    await changeImport(fixture.database.db, importId, {
      finished_at: earlier('finished_at'),
      file_links_expire_at: earlier('file_links_expire_at'),
    })
  }

  // design.md §3, Error file.
  test('the link to an error file works for 7 days after the end of its import, and no longer', async () => {
    const { importId, token, linkMs } = await importWithErrors()
    expect(linkMs).toBe(7 * dayMs)
    await passTime(importId, 7 * dayMs - minuteMs)
    expect(await follow(token)).toMatchObject({ url: expect.stringContaining('X-Amz-Expires=300') })
    await passTime(importId, minuteMs)
    expect(await follow(token)).toBe('expired')
  })

  test.each([
    [1, 1],
    [6, 6],
    [8, 7],
    [3_650, 7],
  ])('with FILE_RETENTION_DAYS=%d, the link works for %d days, and the mail says so', async (retentionDays, days) => {
    const { importId, linkMs } = await importWithErrors({ FILE_RETENTION_DAYS: retentionDays })
    expect(linkMs).toBe(days * dayMs)
    const mail = await fixture.database.db
      .selectFrom('mails')
      .select('text')
      .where('event', '=', `import:${importId}`)
      .executeTakeFirstOrThrow()
    expect(mail.text).toContain(`for ${days} day`)
  })

  test('a token that was never issued leads to no error file', async () => {
    const { token } = await importWithErrors()
    const altered = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    expect(await follow(altered)).toBe('unknown')
    expect(await follow(`${crypto.randomUUID()}.${token.split('.')[1]}`)).toBe('unknown')
    expect(await follow('../../etc/passwd')).toBe('unknown')
  })

  test('that a killed process had uploaded in part are removed with the others', async () => {
    const prefix = `apps/${appId}/imports/${crypto.randomUUID()}/`
    const dying = Promise.withResolvers<never>()
    async function* content() {
      yield Buffer.alloc(6 * 2 ** 20)
      await dying.promise
    }
    const writing = fixture.storage.writeStream(`${prefix}errors-1.csv`, content(), 'text/csv')
    writing.catch(() => {}) // it may fail as soon as its upload is removed
    await until('the first part', async () => (await unfinishedUploads(prefix)) === 1)
    await fixture.storage.removeAll(prefix)
    expect(await unfinishedUploads(prefix)).toBe(0)
    dying.reject(new Error('as expected'))
    await expect(writing).rejects.toThrow()
  })

  test('that were uploaded in part are removed by two processes at once', async () => {
    const prefix = `apps/${appId}/imports/${crypto.randomUUID()}/`
    for (let index = 0; index < 20; index++)
      await fixture.storage.beginParts(`${prefix}errors-${index}.csv`, { contentType: 'text/csv', user: {} })
    await Promise.all([fixture.storage.removeAll(prefix), fixture.storage.removeAll(prefix)])
    expect(await unfinishedUploads(prefix)).toBe(0)
  })

  test('of other imports are removed even if storage refuses to remove those of one import', async () => {
    const [first, second] = [await importFile(fixture, appId, file), await importFile(fixture, appId, file)]
    await fixture.database.db
      .updateTable('imports')
      .set({ finished_at: new Date(0) })
      .execute()
    const stubborn: Storage = {
      ...fixture.storage,
      async removeAll(prefix) {
        if (prefix.includes(first.view.import_id)) throw new Error('503 SlowDown')
        await fixture.storage.removeAll(prefix)
      },
    }
    const old = new Date(Date.now() - 30 * 86_400_000)
    for (const [i, { view }] of [first, second].entries()) {
      const finished_at = new Date(old.getTime() + i * 1000)
      await changeImport(fixture.database.db, view.import_id, { finished_at })
    }
    await removeOldFiles({ ...fixture.context, storage: stubborn })
    const left = await fixture.database.db
      .selectFrom('imports')
      .select('import_id')
      .where('files_removed_at', 'is', null)
      .execute()
    expect(left.map((row) => row.import_id)).toContain(first.view.import_id)
    expect(left.map((row) => row.import_id)).not.toContain(second.view.import_id)
  })

  /**
   * Storage that refuses to remove files, and notes its requests in `tried`. Request number `most` shuts the process
   * down.
   */
  const refusing = (tried: string[], stop: AbortController, most: number): Storage => ({
    ...fixture.storage,
    async removeAll(prefix) {
      tried.push(prefix)
      if (tried.length === most) stop.abort()
      throw new Error('503 SlowDown')
    },
  })

  test('are removed once per import and run, however many imports ended at the same microsecond', async () => {
    const ended = Array.from({ length: 250 }, () => ({
      app_id: appId,
      source: 'v3' as const,
      state: 'completed' as const,
      object_key: 'none',
      content_type: 'text/csv' as const,
      finished_at: '2020-01-01T00:00:00.123456Z',
    }))
    await fixture.database.db.insertInto('imports').values(ended).execute()
    const run = async (most: number): Promise<string[]> => {
      const tried: string[] = []
      const stop = new AbortController()
      const storage = refusing(tried, stop, most)
      expect(await removeOldFiles({ ...fixture.context, storage, shutdown: stop.signal })).toBe(0)
      return tried
    }
    const tried = await run(1_000) // ends a run that repeats requests
    expect(tried).toHaveLength(250)
    expect(new Set(tried).size).toBe(250)
    expect(await run(3), 'a run in a process that shuts down at the third import').toHaveLength(3)
  })

  // design.md §3, Stored files.
  test('uploads and error files are removed FILE_RETENTION_DAYS after the import has ended, and no sooner', async () => {
    const { view } = await importFile(fixture, appId, file)
    const key = `apps/${appId}/imports/${view.import_id}/upload`
    expect(await removeOldFiles(fixture.context)).toBe(0)
    expect(await fixture.storage.stat(key)).toBeDefined()
    await endDaysAgo(fixture.database.db, view.import_id, 7)
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await fixture.storage.stat(key)).toBeUndefined()
    expect(await removeOldFiles(fixture.context)).toBe(0)
    const token = view.error_file_url?.split('/').at(-1) ?? ''
    expect(await followFileLink({ db: fixture.database.db, storage: fixture.storage }, 'errors', token)).toBe('expired')
  })

  test('of a cancelled import are removed like those of any other, but not before its report', async () => {
    const importId = await queueFile(fixture, appId, file)
    const key = `apps/${appId}/imports/${importId}/upload`
    await cancelImport(fixture.database.db, { appId, importId })
    await endDaysAgo(fixture.database.db, importId, 7)
    expect(await removeOldFiles(fixture.context)).toBe(0)
    await reportCancelled(fixture.context)
    expect(await fixture.storage.stat(key)).toBeDefined()
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await fixture.storage.stat(key)).toBeUndefined()
  })

  test('that arrive after their import was cancelled start no import, and are removed within two days', async () => {
    const request = {
      checksum: '6VkhpT2eVzkbUMqljvj/Fg==',
      byte_size: 1,
      content_type: 'text/csv' as const,
      dry_run: false,
    }
    const { importId } = await requestImport(fixture.context, appId, request)
    const key = `apps/${appId}/imports/${importId}/upload`
    await cancelImport(fixture.database.db, { appId, importId })
    await reportCancelled(fixture.context)
    await fixture.storage.write(key, Buffer.from(file), 'text/csv')
    expect(await noticeUploads(fixture.context)).toEqual({ queued: 0, expired: 0 })
    await endDaysAgo(fixture.database.db, importId, 1)
    expect(await removeOldFiles(fixture.context)).toBe(0)
    await endDaysAgo(fixture.database.db, importId, 2)
    expect(await removeOldFiles(fixture.context)).toBe(1)
    expect(await fixture.storage.stat(key)).toBeUndefined()
  })
})
