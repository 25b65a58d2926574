import { sql } from '@sluice/database'
import { importPrefix } from '@sluice/imports'
import { expect } from 'vitest'
import { findOrphans } from '../environment/orphans.ts'
import { openApp } from '../imports/import-fixture.ts'
import { type BucketFixture, openBucketFixture, request, runAt, schedule } from './deletion-fixture.ts'

export const csv = 'user_id,age\nalice,1\nbob,2\n'

export interface LateWriters {
  fixture: BucketFixture
  appId: number
  deleteAlice(): Promise<void>
  /** Returns the keys of the objects that are stored for an import. */
  stored(importId: string): Promise<string[]>
  /** Stores {@link csv} as an object of an import. */
  write(importId: string, name?: string): Promise<void>
  /** Lets `hours` hours pass for sweeps. */
  passHours(hours: number): Promise<unknown>
  /** Returns the IDs of the imports whose objects are still to be swept. */
  sweepsLeft(): Promise<string[]>
  /** Closes the fixture. Throws if the bucket has an object that nothing will ever remove. */
  close(): Promise<void>
}

/** Opens a fixture with an app that has the users alice and bob. */
export async function openLateWriters(): Promise<LateWriters> {
  const fixture = await openBucketFixture()
  const appId = await openApp(fixture, ['alice', 'bob'])
  const { db } = fixture.database
  return {
    fixture,
    appId,
    async deleteAlice() {
      await request(fixture, appId, ['alice'], schedule.accepted)
      await runAt(fixture, schedule.completion)
    },
    async stored(importId) {
      const keys: string[] = []
      for await (const page of fixture.bucket.storage.list(importPrefix(appId, importId)))
        keys.push(...page.map(({ key }) => key))
      return keys
    },
    write: (importId, name = 'upload') =>
      fixture.storage.write(`${importPrefix(appId, importId)}${name}`, Buffer.from(csv), 'text/csv'),
    passHours: (hours) => sql`update file_sweeps set due_at = due_at - make_interval(hours => ${hours})`.execute(db),
    sweepsLeft: async () =>
      (await db.selectFrom('file_sweeps').select('import_id').execute()).map((row) => row.import_id),
    async close() {
      expect(await findOrphans(db, fixture.bucket.settings)).toEqual([])
      await fixture.close()
    },
  }
}
