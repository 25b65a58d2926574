import { requestDeletion } from '@sluice/deletions'
import { registerUsers } from '@sluice/profiles'
import type { Prepared, Scenario } from '../scenario.ts'

/** Users whom the request names. The model does not know them, so none of them may remain. */
const deleted = Array.from({ length: 5 }, (_, user) => `deleted-${user}`)

/** When the request was accepted, so long ago that the dates of the deletion's start and completion have passed. */
const acceptedAt = new Date('2025-03-01T12:00:00Z')

/** A deletion whose dates have come: it starts, removes users in batches, completes, and sends its mails. */
export const deletion: Scenario = {
  name: 'deletion',
  apps: ['worker'],
  tasks: ['run-deletions'],
  async prepare({ system, app }) {
    await registerUsers(system.db, app.appId, deleted)
    const request = { appId: app.appId, userIds: deleted, tokenLastFour: 'last' }
    await requestDeletion({ db: system.db, settings: { SERVICE_TIMEZONE: 'UTC' } }, request, acceptedAt)
  },
  steps: [({ maintain }) => maintain('run-deletions')],
  async isSettled(stage) {
    return (await requestsOf(stage)).every(({ completed_at: at }) => at !== null)
  },
  async verify(stage) {
    const requests = await requestsOf(stage)
    const users = requests.reduce((sum, { users_deleted: count }) => sum + Number(count), 0)
    return users === deleted.length ? [] : [`${users} users counted as deleted`]
  },
}

function requestsOf({ system: { db }, app }: Prepared) {
  return db
    .selectFrom('deletion_requests')
    .select(['completed_at', 'users_deleted'])
    .where('app_id', '=', app.appId)
    .execute()
}
