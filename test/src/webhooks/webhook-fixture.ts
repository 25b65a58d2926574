import { randomBytes } from 'node:crypto'
import { createApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import type { WebhookEvent } from '@sluice/contract'
import type { Database } from '@sluice/database'
import {
  addEndpoint,
  type Deliverer,
  delivererSettings,
  dueDeliveries,
  enqueueEvent,
  openAddressRule,
  openDeliverer,
} from '@sluice/webhooks'
import { beforeEach } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { openReceiver, type Receiver } from './receiver.ts'

/** The settings under which webhooks reach this machine, as environment variables. */
export const localEnvironment = {
  ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
}

export const localSettings = readSettings(localEnvironment, delivererSettings)
export const localRule = { allowsHttp: true, isAllowed: openAddressRule(localSettings.WEBHOOK_ALLOW_NETWORKS) }

/** Opens a deliverer with other settings or options than the fixture's. */
export function openOtherDeliverer(
  db: Database,
  environment: Record<string, string>,
  options: Parameters<typeof openDeliverer>[2] = {},
): Deliverer {
  return openDeliverer(db, readSettings({ ...localEnvironment, ...environment }, delivererSettings), options)
}

/** Webhooks in this process on real Postgres, without queue. */
export interface WebhookFixture {
  database: TestDatabase
  db: Database
  appId: number
  deliverer: Deliverer
  close(): Promise<void>
}

/** Opens a fixture with one app. `options` are those of the deliverer. */
export async function openWebhookFixture(options: Parameters<typeof openDeliverer>[2] = {}): Promise<WebhookFixture> {
  const database = await openTestDatabase()
  const { appId } = await createApp(database.db, { name: 'Shop', email: 'ann@example.com' })
  const deliverer = openDeliverer(database.db, localSettings, options)
  return { database, db: database.db, appId, deliverer, close: () => database.close() }
}

/** Opens a fixture and a receiver before each test. The results always are those of the current test. */
export function eachWithReceiver(): { fixture: WebhookFixture; receiver: Receiver } {
  const fixture = openBeforeEach(openWebhookFixture)
  const receiver = {} as Receiver
  beforeEach(async () => {
    await openReceiver(undefined, receiver)
    return () => receiver.close()
  })
  return { fixture, receiver }
}

type Endpoint = Awaited<ReturnType<typeof addEndpoint>>

/** Adds an endpoint of the fixture's app, or of another app. */
export async function openEndpoint(
  { db, appId }: WebhookFixture,
  url: string,
  { app = appId, events }: { app?: number; events?: WebhookEvent[] } = {},
): Promise<Endpoint> {
  return await addEndpoint(db, { keys: localSettings.ENCRYPTION_KEYS, rule: localRule }, app, { url, events })
}

/** Records an event with any data, in a transaction of its own. */
export async function recordAnyEvent(
  { db, appId }: WebhookFixture,
  { app = appId, id = crypto.randomUUID(), data = {} }: { app?: number; id?: string; data?: object } = {},
): Promise<void> {
  const timestamp = new Date().toISOString()
  await db.transaction().execute((tx) => enqueueEvent(tx, app, { type: 'import.completed', id, timestamp, data }))
}

/** Lets the pauses of all waiting deliveries end, and the leases of killed processes. */
export async function makeDue({ db }: Pick<WebhookFixture, 'db'>): Promise<void> {
  await db
    .updateTable('webhook_deliveries')
    .set({ next_attempt_at: new Date(0), lease_until: null })
    .where('state', '=', 'waiting')
    .execute()
}

export async function states({ db }: Pick<WebhookFixture, 'db'>): Promise<string[]> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .select('state')
    .orderBy('created_at')
    .orderBy('delivery_id')
    .execute()
  return rows.map(({ state }) => state)
}

/** Returns the delivery that is due. Throws if there are several or none. */
export async function onlyDue({ db }: Pick<WebhookFixture, 'db'>) {
  const [delivery, ...others] = await dueDeliveries(db, 10)
  if (delivery === undefined || others.length > 0) throw new Error(`${others.length + 1} deliveries are due`)
  return delivery
}

/** Records an event, and makes one attempt to deliver it. */
export async function attempt(fixture: WebhookFixture) {
  await recordAnyEvent(fixture, { data: { name: 'value' } })
  const delivery = await onlyDue(fixture)
  return { delivery, result: await fixture.deliverer.deliver(delivery) }
}

export async function retryUntil({ db }: Pick<WebhookFixture, 'db'>, time: Date): Promise<void> {
  await db.updateTable('webhook_deliveries').set({ retry_until: time }).execute()
}
