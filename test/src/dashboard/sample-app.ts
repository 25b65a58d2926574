import { addMember } from '@sluice/accounts'
import { inviteMember } from '@sluice/sign-in'
import { addDeletions, addUsers } from './sample-data.ts'
import { openApp, type TestDashboard } from './test-dashboard.ts'

/** E-mail address of the second member of every sample app. */
export const secondMember = 'bookkeeping@example.com'

export interface SampleApp {
  appId: number
  apiToken: string
}

/** Creates an app with a second member, an invitation, users with profiles, and deletion requests. */
export async function openSampleApp(
  dashboard: Pick<TestDashboard, 'db'>,
  name: string,
  email: string,
): Promise<SampleApp> {
  const app = await openApp(dashboard, name, email)
  await addMember(dashboard.db, app.appId, secondMember)
  const invited = { email: 'newcomer@example.com', by: email, memberLimit: 10 }
  await inviteMember(dashboard.db, app.appId, invited)
  await addUsers(dashboard.db, app.appId, 500)
  await addDeletions(dashboard.db, app.appId)
  return app
}
