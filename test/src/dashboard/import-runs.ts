import { readSettings } from '@sluice/config'
import { registerUsers } from '@sluice/profiles'
import { pino } from 'pino'
import { fixtureSettings, type ImportFixture } from '../imports/import-fixture.ts'
import { openApp, type TestDashboard } from './test-dashboard.ts'

/** Returns a fixture that runs imports on the database and storage of a dashboard, as a worker does. */
export function fixtureOf(
  { database, db, storage }: TestDashboard,
  environment: Record<string, string> = {},
): ImportFixture {
  const settings = readSettings({ API_URL: 'http://api.test', ...environment }, fixtureSettings)
  const context = { db, storage, settings, log: pino({ level: 'silent' }) }
  return { context, database, storage, close: async () => {} }
}

/** Creates an app with these users and one member with a new address. */
export async function openAppWith(
  dashboard: TestDashboard,
  users: readonly string[],
): Promise<{ appId: number; email: string; apiToken: string }> {
  const email = `${crypto.randomUUID()}@example.com`
  const { appId, apiToken } = await openApp(dashboard, 'Shop', email)
  await registerUsers(dashboard.db, appId, users)
  return { appId, email, apiToken }
}
