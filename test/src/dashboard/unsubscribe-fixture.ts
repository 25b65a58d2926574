import { listMembers } from '@sluice/accounts'
import { openApp, type TestDashboard } from './test-dashboard.ts'

/** Creates an app with two members. Returns the address of the first member's link. */
export async function openShop(dashboard: TestDashboard): Promise<{ appId: number; link: string }> {
  const { appId } = await openApp(dashboard, 'Shop', 'anna@example.com')
  await dashboard.db.insertInto('members').values({ app_id: appId, email: 'ben@example.com' }).execute()
  const { unsubscribe_key: key } = await dashboard.db
    .selectFrom('members')
    .select('unsubscribe_key')
    .where('app_id', '=', appId)
    .where('email', '=', 'anna@example.com')
    .executeTakeFirstOrThrow()
  return { appId, link: `/unsubscribe/${appId}/${key}` }
}

/** Returns the addresses of the members who get an app's mails. */
export async function mailed({ db }: TestDashboard, appId: number): Promise<string[]> {
  return (await listMembers(db, appId)).filter(({ getsMails }) => getsMails).map(({ email }) => email)
}
