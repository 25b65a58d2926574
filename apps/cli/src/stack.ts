import { Failure, messageOf } from '@sluice/client-cli/failure'
import type { Database } from '@sluice/database'
import { defaultHome, embeddedStorageAccess, encryptionKeysOf, readStackInfo } from '@sluice/local-stack/running'
import type { Storage } from '@sluice/storage'
import type { UrlRule } from '@sluice/webhooks'
import { InvalidArgumentError } from 'commander'

// Libraries are loaded where a command needs them. Most commands need few libraries, and loading is most of their time.

/** The folder of the stack that this command works on. */
const home = () => process.env.SLUICE_HOME || defaultHome

/** Returns the running stack of `SLUICE_HOME`, which supplies the settings that the environment does not set. */
async function runningStack() {
  return await readStackInfo(home())
}

/**
 * Returns the environment of this command. If a variable such as `DATABASE_URL_FILE` names a file, its content is the
 * value of `DATABASE_URL`.
 */
async function environment(): Promise<NodeJS.ProcessEnv> {
  // Without such a variable, `@sluice/config` is not loaded: loading it takes longer than most commands.
  if (!Object.keys(process.env).some((name) => name.endsWith('_FILE'))) return process.env
  const { readSecretFiles } = await import('@sluice/config')
  return readSecretFiles(process.env)
}

/**
 * Returns the URL of the database for operator commands (design.md §2, Connections): `DATABASE_URL`, or the database of
 * the running stack.
 */
export async function databaseUrl(): Promise<string> {
  const env = await environment()
  if (env.DATABASE_URL) {
    const { readSettings } = await import('@sluice/config')
    return readSettings(env, ['DATABASE_URL']).DATABASE_URL
  }
  const stack = await runningStack()
  if (stack === undefined) throw new Failure('no stack is running here: start one with npm start, or set DATABASE_URL')
  return stack.database
}

/** Returns the URL of the API for client commands: `--api`, `API_URL`, or the API of the running stack. */
export async function apiUrl(option: string | undefined): Promise<string> {
  const address = option ?? process.env.API_URL
  if (address) {
    if (!/^https?:\/\//.test(address) || !URL.canParse(address))
      throw new Failure(`${address} is not an http address`, 2)
    return address.replace(/\/+$/, '')
  }
  const stack = await runningStack()
  if (stack === undefined) throw new Failure('no stack is running here: start one with npm start, or use --api')
  return stack.api
}

/**
 * Returns the beginning of links to error files: `API_URL`, or the API of the running stack. Undefined if the variable
 * is not set and no stack with this command's database is running.
 */
export async function linkBase(): Promise<string | undefined> {
  return process.env.API_URL || (await stackOfDatabase())?.api
}

/** Returns the URL of the dashboard for links: `DASHBOARD_URL`, or the dashboard of the running stack. */
export async function dashboardUrl(): Promise<string> {
  if (process.env.DASHBOARD_URL) {
    const { readSettings } = await import('@sluice/config')
    return readSettings(process.env, ['DASHBOARD_URL']).DASHBOARD_URL
  }
  const url = (await stackOfDatabase())?.dashboard
  if (url === undefined) throw noStackOfDatabase('DASHBOARD_URL')
  return url
}

/**
 * Runs an operator's command with a connection to the database, and closes the connection at the end. `url` replaces
 * the database of {@link databaseUrl}. Throws {@link Failure} if it refuses connections.
 */
export async function withDatabase<Result>(work: (db: Database) => Promise<Result>, url?: string): Promise<Result> {
  const { connect, sql } = await import('@sluice/database')
  const { db, close } = connect(url ?? (await databaseUrl()), { connections: 4 })
  try {
    await sql`select`.execute(db).catch((error: unknown) => {
      throw new Failure(`the database cannot be used: ${messageOf(error)}. Start it, or check DATABASE_URL.`)
    })
    return await work(db)
  } finally {
    await close()
  }
}

/**
 * Returns the running stack if this command works on its database. The processes of another deployment have other keys
 * and settings.
 */
async function stackOfDatabase() {
  const [stack, { DATABASE_URL: url }] = [await runningStack(), await environment()]
  return !url || url === stack?.database ? stack : undefined
}

function noStackOfDatabase(setting: string): Failure {
  return new Failure(`no stack with this database is running here: start one with npm start, or set ${setting}`)
}

/** Returns the keys that encrypt secrets: `ENCRYPTION_KEYS`, or the key of the running stack. */
export async function encryptionKeys(): Promise<readonly Buffer[]> {
  const env = await environment()
  const stack = env.ENCRYPTION_KEYS ? undefined : await stackOfDatabase()
  if (!env.ENCRYPTION_KEYS && stack === undefined) throw noStackOfDatabase('ENCRYPTION_KEYS')
  const { readSettings } = await import('@sluice/config')
  const ENCRYPTION_KEYS = stack?.settings?.ENCRYPTION_KEYS ?? (await encryptionKeysOf(home(), env))
  return readSettings({ ...env, ENCRYPTION_KEYS }, ['ENCRYPTION_KEYS']).ENCRYPTION_KEYS
}

/**
 * Returns which addresses webhook endpoints may have: `WEBHOOK_ALLOW_HTTP` and `WEBHOOK_ALLOW_NETWORKS` of the
 * environment, or else of the running stack.
 */
export async function webhookRule(): Promise<UrlRule> {
  const [{ readSettings }, { openAddressRule }] = await Promise.all([
    import('@sluice/config'),
    import('@sluice/webhooks'),
  ])
  const names = ['WEBHOOK_ALLOW_HTTP', 'WEBHOOK_ALLOW_NETWORKS'] as const
  const given = Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])))
  const settings = readSettings({ ...(await stackOfDatabase())?.settings, ...given }, names)
  return {
    allowsHttp: settings.WEBHOOK_ALLOW_HTTP,
    isAllowed: openAddressRule(settings.WEBHOOK_ALLOW_NETWORKS),
  }
}

/** Runs an operator's command with the storage that `S3_ENDPOINT` names, or with the storage of the running stack. */
export async function withStorage<Result>(work: (storage: Storage) => Promise<Result>): Promise<Result> {
  const [{ readSettings }, { openStorage, storageSettings }] = await Promise.all([
    import('@sluice/config'),
    import('@sluice/storage'),
  ])
  const settings = readSettings({ ...(await environment()), ...(await stackStorage()) }, storageSettings)
  const storage = openStorage(settings)
  try {
    return await work(storage)
  } finally {
    storage.close()
  }
}

async function stackStorage(): Promise<Record<string, string>> {
  if (process.env.S3_ENDPOINT) return {}
  const stack = await stackOfDatabase()
  if (stack === undefined) throw noStackOfDatabase('S3_ENDPOINT')
  return { S3_ENDPOINT: stack.storage, ...(await embeddedStorageAccess(home(), await environment())) }
}

export function parseAppId(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('It must be the number that sluice apps create returned.')
  return Number(text)
}
