import { lockApp } from '@sluice/accounts'
import { isUuid, limits, type WebhookEvent, webhookEvents } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import { decrypt, type EncryptionKeys, encrypt, isCurrent } from '@sluice/encryption'
import { makeSigningSecret } from './signature.ts'
import { checkUrl, type UrlRule } from './url.ts'

/** An endpoint without its secret. */
export interface WebhookEndpoint {
  endpointId: string
  url: string
  events: WebhookEvent[]
  createdAt: Date
  /** When the first try failed after the last success; null if none did. */
  erringSince: Date | null
  /** The same once a delivery has failed for good; null if none did, or if a delivery has succeeded since. */
  failingSince: Date | null
  /** When the receiver said that the endpoint is gone; null if it did not, or if the endpoint was enabled since. */
  disabledAt: Date | null
}

/** The endpoint is refused. The message names the reason. */
export class EndpointRefused extends Error {
  override readonly name = 'EndpointRefused'
}

/**
 * Adds an endpoint of an app (second-day.md §5, Endpoints). Without `events`, it chooses all events. The secret cannot
 * be read again later.
 *
 * Throws `UnknownApp` or {@link EndpointRefused}.
 */
export async function addEndpoint(
  db: Database,
  { keys, rule }: { keys: EncryptionKeys; rule: UrlRule },
  appId: number,
  { url: given, events = webhookEvents }: { url: string; events?: readonly string[] | undefined },
): Promise<{ endpointId: string; url: string; events: WebhookEvent[]; secret: string }> {
  const checked = checkUrl(given, rule)
  if ('problem' in checked) throw new EndpointRefused(checked.problem)
  const chosen = checkEvents(events)
  const endpointId = crypto.randomUUID()
  const secret = makeSigningSecret()
  await db.transaction().execute(async (tx) => {
    // The lock makes concurrent calls wait, so that together they cannot exceed the limit.
    await lockApp(tx, appId)
    const { rows } = await sql<{ count: number }>`
      select count(*) from webhook_endpoints where app_id = ${appId} and removed_at is null`.execute(tx)
    if ((rows[0]?.count ?? 0) >= limits.webhookEndpoints)
      throw new EndpointRefused(`an app can have at most ${limits.webhookEndpoints} webhook endpoints`)
    await tx
      .insertInto('webhook_endpoints')
      .values({
        app_id: appId,
        endpoint_id: endpointId,
        url: checked.url,
        events: chosen,
        encrypted_secret: encrypt(keys, endpointId, secret),
      })
      .execute()
  })
  return { endpointId, url: checked.url, events: chosen, secret }
}

/** Returns the chosen events in the order of the contract. Throws {@link EndpointRefused}. */
function checkEvents(given: readonly string[]): WebhookEvent[] {
  const unknown = given.find((name) => !webhookEvents.some((event) => event === name))
  if (unknown !== undefined)
    throw new EndpointRefused(`there is no event ${JSON.stringify(unknown)}: choose of ${webhookEvents.join(', ')}`)
  if (given.length === 0) throw new EndpointRefused('choose at least one event')
  return webhookEvents.filter((event) => given.includes(event))
}

/** Returns an app's endpoints, oldest first. */
export async function listEndpoints(db: Database, appId: number): Promise<WebhookEndpoint[]> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select(['endpoint_id', 'url', 'events', 'created_at', 'erring_since', 'failing_since', 'disabled_at'])
    .where('app_id', '=', appId)
    .where('removed_at', 'is', null)
    .orderBy('created_at')
    .orderBy('endpoint_id')
    .execute()
  return rows.map((row) => ({
    endpointId: row.endpoint_id,
    url: row.url,
    events: webhookEvents.filter((event) => row.events.includes(event)),
    createdAt: row.created_at,
    erringSince: row.erring_since,
    failingSince: row.failing_since,
    disabledAt: row.disabled_at,
  }))
}

/**
 * Removes an endpoint with its secret. Nothing more is sent to it, apart from attempts in flight. Maintenance removes
 * its deliveries. Returns false if the app has no such endpoint.
 */
export async function removeEndpoint(db: Database, appId: number, endpointId: string): Promise<boolean> {
  if (!isUuid(endpointId)) return false
  const { numUpdatedRows } = await db
    .updateTable('webhook_endpoints')
    .set({ ...removed })
    .where('app_id', '=', appId)
    .where('endpoint_id', '=', endpointId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** The values of an endpoint's row after its removal. */
const removed = {
  removed_at: sql<Date>`now()`,
  failing_since: null,
  encrypted_secret: Buffer.alloc(0),
  previous_secret: null,
}

/**
 * Enables an endpoint whose receiver had said that it is gone. What waits for it is sent again. Returns false if the
 * app has no such endpoint, and `unchanged` if it was not disabled.
 */
export async function enableEndpoint(db: Database, appId: number, endpointId: string): Promise<boolean | 'unchanged'> {
  if (!isUuid(endpointId)) return false
  const { rows } = await sql<{ was_disabled: boolean }>`
    with before as (
      select endpoint_id, disabled_at is not null as was_disabled from webhook_endpoints
      where app_id = ${appId} and endpoint_id = ${endpointId} and removed_at is null for update
    )
    update webhook_endpoints e set disabled_at = null from before
    where e.app_id = ${appId} and e.endpoint_id = before.endpoint_id returning before.was_disabled
  `.execute(db)
  const [found] = rows
  if (found === undefined) return false
  return found.was_disabled || 'unchanged'
}

/**
 * Replaces the secret of an endpoint. Every attempt from now on is signed with the new one, and for a day with the old
 * one as well. The new one is returned, and cannot be read again later. Returns undefined if the app has no such
 * endpoint.
 */
export async function rotateSecret(
  db: Database,
  keys: EncryptionKeys,
  appId: number,
  endpointId: string,
): Promise<string | undefined> {
  if (!isUuid(endpointId)) return undefined
  const secret = makeSigningSecret()
  const rotated = await db
    .updateTable('webhook_endpoints')
    .set({
      previous_secret: sql<Buffer>`encrypted_secret`,
      rotated_at: sql<Date>`now()`,
      encrypted_secret: encrypt(keys, endpointId.toLowerCase(), secret),
    })
    .where('app_id', '=', appId)
    .where('endpoint_id', '=', endpointId)
    .where('removed_at', 'is', null)
    .executeTakeFirst()
  return rotated.numUpdatedRows > 0n ? secret : undefined
}

/**
 * Encrypts anew every secret that is not encrypted with the first key. Returns how many secrets it encrypted. Throws
 * `CannotDecrypt` at the first secret whose key is missing.
 */
export async function reencryptEndpointSecrets(db: Database, keys: EncryptionKeys): Promise<number> {
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select(['app_id', 'endpoint_id', 'encrypted_secret', 'previous_secret'])
    .where('removed_at', 'is', null)
    .execute()
  let count = 0
  for (const row of rows) {
    for (const column of ['encrypted_secret', 'previous_secret'] as const) {
      const encrypted = row[column]
      if (encrypted === null || isCurrent(keys, encrypted)) continue
      await db
        .updateTable('webhook_endpoints')
        .set({ [column]: encrypt(keys, row.endpoint_id, decrypt(keys, row.endpoint_id, encrypted)) })
        .where('app_id', '=', row.app_id)
        .where('endpoint_id', '=', row.endpoint_id)
        .where(column, '=', encrypted)
        .execute()
      count += 1
    }
  }
  return count
}

/** Removes all endpoints of an app that is being deleted, so that nothing more is sent to them. */
export async function removeEndpointsOfApp(tx: Database, appId: number): Promise<void> {
  await tx
    .updateTable('webhook_endpoints')
    .set({ ...removed })
    .where('app_id', '=', appId)
    .where('removed_at', 'is', null)
    .execute()
}
