import { readSettings } from '@sluice/config'
import type { ImportState } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { keyLeaseMs } from '@sluice/idempotency'
import { registeredKeys } from '@sluice/profiles'
import type { DocumentedOperation } from './document-check.ts'
import { exports, imports, keyInFlight, usedKey } from './provocations.ts'

/** Inserts what the provocations refer to: imports, exports, profile keys and idempotency keys of an app. */
export async function insertKnownRows(
  db: Database,
  appId: number,
  operations: readonly DocumentedOperation[],
): Promise<void> {
  await insertImports(db, appId)
  await insertExports(db, appId)
  await insertProfileKeys(db, appId)
  await insertIdempotencyKeys(db, appId, operations)
}

const stateOf = (name: string): ImportState => (name === 'cancelled' || name === 'held' ? name : 'completed')

async function insertImports(db: Database, appId: number): Promise<void> {
  const rows = Object.entries(imports).map(([name, { importId, secret, linkExpires }]) => ({
    app_id: appId,
    import_id: importId,
    source: 'v3' as const,
    state: stateOf(name),
    content_type: 'text/csv' as const,
    object_key: `test/${importId}`,
    types: JSON.stringify({ name: 'string' }),
    error_file_key: `test/${importId}/errors.csv`,
    error_file_secret: secret,
    keep_changes: name === 'linked',
    changes_file_key: `test/${importId}/changes.csv.gz`,
    changes_file_secret: secret,
    file_links_expire_at: linkExpires,
    started_at: new Date(),
    finished_at: new Date(),
  }))
  await db.insertInto('imports').values(rows).execute()
}

async function insertExports(db: Database, appId: number): Promise<void> {
  const rows = Object.values(exports).map(({ exportId, secret, linkExpires }) => ({
    app_id: appId,
    export_id: exportId,
    state: 'completed' as const,
    attempt: 1,
    file_secret: secret,
    file_expires_at: linkExpires,
    finished_at: new Date(),
  }))
  await db.insertInto('exports').values(rows).execute()
}

async function insertProfileKeys(db: Database, appId: number): Promise<void> {
  const keys = [
    { app_id: appId, key: 'name', type: 'string' as const },
    { app_id: appId, key: 'age', type: 'int' as const },
    { app_id: appId, key: 'zip', type: 'string' as const },
    { app_id: appId, key: 'plan', type: 'string' as const, enabled: false },
  ]
  await db.insertInto('profile_keys').values(keys).execute()
}

/** Runs `action` while the app has exactly as many enabled keys as it may have. */
export async function withAllKeys<Result>(db: Database, appId: number, action: () => Promise<Result>): Promise<Result> {
  const { PROFILE_KEY_LIMIT } = readSettings({}, ['PROFILE_KEY_LIMIT'])
  const enabled = [...(await registeredKeys(db, appId)).values()].filter((key) => key.enabled).length
  const keys = Array.from({ length: PROFILE_KEY_LIMIT - enabled }, (_, index) => ({
    app_id: appId,
    key: `full${index}`,
    type: 'int' as const,
  }))
  await db.insertInto('profile_keys').values(keys).execute()
  try {
    return await action()
  } finally {
    await db.deleteFrom('profile_keys').where('app_id', '=', appId).where('key', 'like', 'full%').execute()
  }
}

/**
 * Inserts two idempotency keys for each operation: a key used with another body, and a key whose request is in flight.
 */
async function insertIdempotencyKeys(
  db: Database,
  appId: number,
  operations: readonly DocumentedOperation[],
): Promise<void> {
  const answered = { key: usedKey, lease_until: new Date(), status: 202, body: '{}', request_hash: Buffer.alloc(32) }
  const inFlight = { key: keyInFlight, lease_until: new Date() }
  const rows = operations.flatMap(({ method, path }) =>
    [answered, inFlight].map((key) => ({
      app_id: appId,
      function: `${method} ${path}`,
      owner: crypto.randomUUID(),
      ...key,
    })),
  )
  await db.insertInto('idempotency_keys').values(rows).execute()
}

/** Renews the claims of the idempotency keys in flight. They stay in flight for {@link keyLeaseMs}. */
export async function renewKeys(db: Database): Promise<void> {
  const leaseUntil = new Date(Date.now() + keyLeaseMs)
  await db.updateTable('idempotency_keys').set({ lease_until: leaseUntil }).where('key', '=', keyInFlight).execute()
}
