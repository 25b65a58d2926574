import type { MaintenanceContext } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import {
  type DeletionContext,
  type DeletionRequestView,
  deletionSettings,
  listDeletions,
  requestDeletion,
  runDeletions,
} from '@sluice/deletions'
import { pino } from 'pino'
import { userIdsIn } from '../environment/database.ts'
import { openTestBucket, type TestBucket } from '../environment/storage.ts'
import { type ImportFixture, openImportFixture } from '../imports/import-fixture.ts'

/**
 * An import fixture that also deletes users. Tests set the clock of deletions, which is far ahead of Postgres's clock.
 */
export interface DeletionFixture extends ImportFixture {
  deletions: DeletionContext
}

/**
 * A request that is accepted at `accepted` starts and completes at these instants; `mail` is the event of its mails.
 */
export const schedule = {
  accepted: '2100-03-01T12:00:00Z',
  beforeStart: '2100-03-07T11:59:59.999Z',
  start: '2100-03-07T12:00:00Z',
  beforeCompletion: '2100-04-06T23:59:59.999Z',
  completion: '2100-04-07T00:00:00Z',
  mail: 'deletion:2100-04-07T00:00:00.000Z',
} as const

/** Opens a fixture; `environment` overrides settings of deletions as environment variables do. */
export async function openDeletionFixture(environment: Record<string, string> = {}): Promise<DeletionFixture> {
  const fixture = await openImportFixture()
  const settings = readSettings(environment, deletionSettings)
  return { ...fixture, deletions: { ...fixture.context, settings } }
}

/** A fixture with its own bucket, which maintenance searches for files. */
export interface BucketFixture extends DeletionFixture {
  bucket: TestBucket
  maintenance: MaintenanceContext
}

export async function openBucketFixture(environment: Record<string, string> = {}): Promise<BucketFixture> {
  const [fixture, bucket] = [await openDeletionFixture(environment), await openTestBucket()]
  const { storage } = bucket
  const context = { ...fixture.context, storage }
  return {
    ...fixture,
    bucket,
    storage,
    context,
    deletions: { ...fixture.deletions, storage },
    maintenance: context,
    async close() {
      bucket.close()
      await fixture.close()
    },
  }
}

/** Requests the deletion of users at the time `at`, with a token that ends in `last`. Returns the request's ID. */
export function request(
  { deletions }: DeletionFixture,
  appId: number,
  userIds: readonly string[],
  at: string,
): Promise<string> {
  return requestDeletion(deletions, { appId, userIds, tokenLastFour: 'last' }, new Date(at))
}

/** Runs deletions as if `at` were now. */
export function runAt({ deletions }: DeletionFixture, at: string, changes: Partial<DeletionContext> = {}) {
  return runDeletions({ ...deletions, ...changes }, new Date(at))
}

/** Runs deletions until a shutdown after the first `batches` batches. */
export async function runCutShort(fixture: DeletionFixture, at: string, batches: number): Promise<void> {
  const shutdown = new AbortController()
  let left = batches
  const log = pino({}, { write: (line) => void (line.includes('users deleted') && --left === 0 && shutdown.abort()) })
  await runAt(fixture, at, { log, shutdown: shutdown.signal }).catch((error: unknown) => {
    if (!shutdown.signal.aborted) throw error
  })
}

/** Returns the registered users of an app who are campaign targets. */
export async function targetsOf({ database }: DeletionFixture, appId: number): Promise<string[]> {
  return await userIdsIn(database, 'campaign_targets', appId)
}

/** Returns the events of an app's deletion mails, oldest first. */
export async function mailEvents({ database }: DeletionFixture, appId: number): Promise<string[]> {
  const rows = await database.db
    .selectFrom('mails')
    .select('event')
    .where('app_id', '=', appId)
    .where('event', 'like', 'deletion:%')
    .orderBy('event')
    .execute()
  return rows.map((row) => row.event)
}

/** Returns the newest deletion request of an app, as `sluice deletions list` shows it. */
export async function newestRequest(
  { database }: DeletionFixture,
  appId: number,
): Promise<DeletionRequestView | undefined> {
  return (await listDeletions(database.db, appId, 1))[0]
}
