import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { deletionSettings, requestDeletion, runDeletions } from '@sluice/deletions'
import { registerUsers } from '@sluice/profiles'
import { pino } from 'pino'
import { schedule } from '../../deletions/deletion-fixture.ts'
import { storedProfiles } from '../../environment/database.ts'
import { until } from '../../environment/wait.ts'
import { type ClientApp, openClientApp, retry, upload } from './client.ts'
import type { Deployment } from './deployment.ts'
import { write } from './generate.ts'

/**
 * Sends data of a new user to the API and straight into the bucket, deletes the user, and registers the ID again. Calls
 * `beforeDeletion` in between.
 */
export async function sendDeleteAndRegister(
  deployment: Deployment,
  app: ClientApp,
  userId: string,
  beforeDeletion: () => Promise<void> = async () => {},
): Promise<void> {
  const { db, storage } = deployment
  const register = () => retry('a registration', () => registerUsers(db, app.appId, [userId]))
  const table = { header: ['user_id', 'mark'], rows: [[Buffer.from(userId), Buffer.from('old')]] }
  const bytes = write(table)
  await register()
  await upload(deployment, app, { table, bytes, contentType: 'text/csv', refusal: undefined })
  await storage.write(`${pathOf(app.appId)}${userId}.csv`, bytes, 'text/csv')
  await beforeDeletion()
  await retry('a deletion', () => deleteUser(deployment, app.appId, userId))
  await register()
}

async function deleteUser({ db, storage }: Deployment, appId: number, userId: string): Promise<void> {
  const settings = readSettings({}, deletionSettings)
  const request = { appId, userIds: [userId], tokenLastFour: 'last' }
  await requestDeletion({ db, settings }, request, new Date(schedule.accepted))
  const context = { db, storage, settings, log: pino({ level: 'silent' }) }
  await runDeletions(context, new Date(schedule.completion))
}

/**
 * Deletes one user after another in an app of its own, until `over`. Returns a description of each user who has data
 * from before the deletion.
 */
export async function keepDeleting(deployment: Deployment, over: AbortSignal): Promise<string[]> {
  const app = await openClientApp(deployment)
  for (let number = 1; !over.aborted; number++) {
    await sendDeleteAndRegister(deployment, app, `deleted-${number}`)
    await untilCompleted(deployment, app, 2 * number)
  }
  return await returnedUsers(deployment, app)
}

/** Waits until an app has completed a number of imports. */
export async function untilCompleted({ db }: Deployment, { appId }: ClientApp, imports: number): Promise<void> {
  const query = db
    .selectFrom('imports')
    .select('import_id')
    .where('app_id', '=', appId)
    .where('state', '=', 'completed')
  const completed = async () => (await retry('the count of imports', () => query.execute())).length
  await until(`${imports} imports of app ${appId}`, async () => (await completed()) >= imports, 180_000)
}

/** Returns a description of each user of {@link sendDeleteAndRegister} who has data from before the deletion. */
export async function returnedUsers({ db }: Deployment, { appId }: ClientApp): Promise<string[]> {
  const profiles = Object.entries(await storedProfiles({ db }, appId))
  const returned = profiles.filter(
    ([userId, values]) => userId.startsWith('deleted-') && Object.keys(values).length > 0,
  )
  return returned.map(
    ([userId, values]) => `${userId} of app ${appId} has ${JSON.stringify(values)} from before the deletion`,
  )
}
