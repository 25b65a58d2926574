import { readSettings } from '@sluice/config'
import { dueDeliveries, enqueueEvent, openAddressRule, openDeliverer } from '@sluice/webhooks'
import { encryptionKeys, openApp, openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { signIn, type Visitor } from './visitor.ts'

const settings = readSettings({ WEBHOOK_ALLOW_HTTP: 'true', WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }, [
  'WEBHOOK_ALLOW_HTTP',
  'WEBHOOK_ALLOW_NETWORKS',
])

/** Opens a dashboard whose webhooks may reach this machine over http. */
export async function openWebhooksDashboard(): Promise<TestDashboard> {
  const webhookRule = { allowsHttp: true, isAllowed: openAddressRule(settings.WEBHOOK_ALLOW_NETWORKS) }
  return await openTestDashboard(async () => ({ webhookRule }))
}

/** Creates an app with one member, and signs the member in. `page` is the address of the app's page of webhooks. */
export async function openShop(
  dashboard: TestDashboard,
  email: string,
): Promise<{ appId: number; page: string; member: Visitor }> {
  const { appId } = await openApp(dashboard, 'Shop', email)
  return { appId, page: `/apps/${appId}/webhooks`, member: await signIn(dashboard, email) }
}

/** Records the event that an app's import completed. */
export async function record({ db }: TestDashboard, appId: number, id: string): Promise<void> {
  const timestamp = '2026-01-31T09:00:00.000Z'
  await enqueueEvent(db, appId, { type: 'import.completed', id, timestamp, data: {} })
}

/** Makes an attempt for every delivery of an app that is due. */
export async function deliverAll({ db }: TestDashboard, appId: number): Promise<void> {
  const deliverer = openDeliverer(db, { ...settings, ENCRYPTION_KEYS: [...encryptionKeys] })
  for (const delivery of await dueDeliveries(db, 100)) {
    if (delivery.appId === appId) await deliverer.deliver(delivery)
  }
}
