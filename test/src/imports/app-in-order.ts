import { sql } from '@sluice/database'
import { dispatchNextInOrder, noticeUploads, requestImport } from '@sluice/imports'
import { expect } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { type ImportFixture, openApp, openImportFixture, type TestApp, testApp } from './import-fixture.ts'

/** An app with the user `u1`. Tests let its imports wait for uploads, be dispatched, and grow old. */
export interface AppInOrder extends TestApp {
  /** Sends a first request without uploading its file. Returns the import's ID. */
  awaitUpload(): Promise<string>
  /** Uploads the file of an import that waits for its upload. */
  upload(importId: string): Promise<void>
  /**
   * Uploads the file of an import that waits for its upload. Makes the service notice the upload, so that the import is
   * queued.
   */
  uploadAndNotice(importId: string): Promise<void>
  /** Lets time pass for an import, by moving its times into the past. */
  age(importId: string, seconds: number): Promise<void>
  /** Dispatches the imports that are next in order. Returns their IDs. */
  dispatch(): Promise<string[]>
  state(importId: string): Promise<string>
}

export const smallFile = Buffer.from('user_id,a\nu1,1\n')

const request = {
  checksum: '6VkhpT2eVzkbUMqljvj/Fg==',
  byte_size: smallFile.length,
  content_type: 'text/csv' as const,
  dry_run: false,
}

async function openAppInOrder(fixture: ImportFixture): Promise<AppInOrder> {
  const appId = await openApp(fixture, ['u1'])
  const app: AppInOrder = {
    ...testApp(fixture, appId),
    awaitUpload: async () => (await requestImport(fixture.context, appId, request)).importId,
    upload: (importId) => fixture.storage.write(`apps/${appId}/imports/${importId}/upload`, smallFile, 'text/csv'),
    async uploadAndNotice(importId) {
      await app.upload(importId)
      await app.age(importId, 2)
      expect(await noticeUploads(fixture.context)).toMatchObject({ queued: 1 })
    },
    async age(importId, seconds) {
      const columns = ['requested_at', 'queued_at', 'upload_expires_at', 'upload_check_at', 'retry_at', 'dispatched_at']
      const moved = columns.map(
        (column) => sql`${sql.ref(column)} = ${sql.ref(column)} - make_interval(secs => ${seconds})`,
      )
      const { rows } = await sql`
        update imports set ${sql.join(moved)} where import_id = ${importId} returning import_id
      `.execute(fixture.database.db)
      expect(rows).toHaveLength(1)
    },
    dispatch: async () => (await dispatchNextInOrder(fixture.context)).map((next) => next.importId),
    state: async (importId) => (await app.resultOf(importId)).view.state,
  }
  return app
}

/** Opens a fixture and such an app before each test. The result always is the app of the current test. */
export function eachWithAppInOrder(environment: Record<string, string> = {}): AppInOrder {
  const fixture = openBeforeEach(() => openImportFixture(environment))
  return openBeforeEach(() => openAppInOrder(fixture))
}
