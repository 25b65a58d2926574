import { randomBytes } from 'node:crypto'
import { createApp } from '@sluice/accounts'
import { type AuditAction, type AuditView, auditLogPage } from '@sluice/audit-log'
import { cliUser } from '@sluice/cli-app/src/audit.ts'
import { commands, openProgram } from '@sluice/cli-app/src/program.ts'
import { cancelImport } from '@sluice/imports'
import { registerKeys } from '@sluice/profiles'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { openTestBucket, type TestBucket } from '../environment/storage.ts'
import { holdImport } from '../imports/forced-states.ts'
import { queueFile } from '../imports/import-fixture.ts'
import { sluice } from './command-line.ts'

// Every command that changes something leaves its entry in the audit log. A new command must join one of the lists
// here.
let database: TestDatabase
let appId: number
let bucket: TestBucket
const environment = {
  DASHBOARD_URL: 'http://dashboard.test',
  ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
  SERVICE_TIMEZONE: 'UTC',
}
beforeAll(async () => {
  database = await openTestDatabase()
  bucket = await openTestBucket()
})
afterAll(async () => {
  bucket.close()
  await database.close()
})

const run = (...args: string[]) => sluice(database, args, environment)
const app = () => ['--app', String(appId)]
const queued = () => queueFile({ database, storage: bucket.storage }, appId, 'user_id,a\nalice,1\n')

/** Registers a key, and returns the arguments that name it. */
async function keyOf(key: string): Promise<string[]> {
  await database.db.transaction().execute((tx) => registerKeys(tx, appId, new Map([[key, 'string']]), 500))
  return [...app(), key]
}

interface Recorded {
  what: AuditAction
  args: () => string[] | Promise<string[]>
  ofAll?: true
  outcome?: 'unchanged'
}

let accessKeyId = ''
let endpointId = ''

/** The commands that leave an entry, in the order in which the test runs them. */
const recorded: Record<string, Recorded> = {
  'apps create': { what: 'app.create', args: () => ['--name', 'Shop', '--email', 'anna@example.com'] },
  'apps set': { what: 'app.set', args: () => [...app(), '--new-keys', 'refuse'] },
  'apps rename': { what: 'app.rename', args: () => [...app(), '--name', 'Corner shop'] },
  'apps limits': { what: 'app.limits', args: () => [...app(), '--bulk-import', '100/10m'] },
  'apps pause': { what: 'app.pause', args: app },
  'apps resume': { what: 'app.resume', args: app },
  pause: { what: 'service.pause', args: () => [], ofAll: true },
  resume: { what: 'service.resume', args: () => [], ofAll: true },
  'tokens register': { what: 'token.register', args: app },
  'members add': { what: 'member.add', args: () => [...app(), '--email', 'ben@example.com'] },
  'operators add': { what: 'operator.add', args: () => ['--email', 'olga@example.com'], ofAll: true },
  'dashboard link': { what: 'sign_in.link', args: () => ['--email', 'olga@example.com'], ofAll: true },
  'operators remove': { what: 'operator.remove', args: () => ['--email', 'olga@example.com'], ofAll: true },
  'access-keys create': { what: 'access_key.create', args: app },
  'access-keys reencrypt': { what: 'access_key.reencrypt', args: () => [], ofAll: true, outcome: 'unchanged' },
  'access-keys delete': { what: 'access_key.delete', args: () => [...app(), accessKeyId] },
  'keys disable': { what: 'key.change', args: () => keyOf('plan') },
  'keys enable': { what: 'key.change', args: () => keyOf('plan') },
  'keys describe': { what: 'key.change', args: async () => [...(await keyOf('plan')), 'The plan'] },
  'webhooks add': { what: 'webhook.add', args: () => [...app(), '--url', 'https://example.com/'] },
  'webhooks test': { what: 'webhook.test', args: () => [...app(), endpointId, '--no-wait'] },
  'webhooks enable': { what: 'webhook.enable', args: () => [...app(), endpointId], outcome: 'unchanged' },
  'webhooks rotate': { what: 'webhook.rotate', args: () => [...app(), endpointId] },
  'webhooks remove': { what: 'webhook.remove', args: () => [...app(), endpointId] },
  'imports cancel': { what: 'import.cancel', args: async () => [await queued()] },
  'imports approve': {
    what: 'import.approve',
    async args() {
      const importId = await queued()
      await holdImport(database.db, importId)
      return [importId]
    },
  },
  'imports retry': {
    what: 'import.retry',
    async args() {
      const importId = await queued()
      await cancelImport(database.db, { appId, importId })
      return [importId]
    },
  },
  'imports undo': {
    what: 'import.undo',
    async args() {
      const importId = await queued()
      await database.db
        .updateTable('imports')
        .set({ state: 'completed', keep_changes: true, changes_file_key: 'changes' })
        .where('import_id', '=', importId)
        .execute()
      return [importId]
    },
  },
  'deletions run': { what: 'deletion.run', args: () => [], ofAll: true },
  'apps delete': { what: 'app.delete', args: () => [...app(), '--yes'] },
}

/**
 * Commands without an entry in the audit log. They only read, or they change only things that keep their own record.
 */
const silent = [
  'access-keys list',
  'apps list',
  // Needs two databases: its entry is tested with its run (`test/src/cells/moves.long.test.ts`).
  'apps move',
  'apps show',
  'audit',
  'deletions list',
  // The API records the request of the export.
  'exports create',
  'imports create',
  'imports list',
  'imports show',
  'keys add',
  'keys list',
  // Leaves an entry only if it has applied a migration.
  'migrate',
  'operators list',
  'queues',
  'users register',
  'users show',
  'webhooks list',
]

type Program = Awaited<ReturnType<typeof openProgram>>

/** Returns the names of all commands that do something, such as `apps create`. */
function namesOf({ commands: verbs }: Program, path: readonly string[] = []): string[] {
  if (verbs.length === 0) return [path.join(' ')]
  return verbs.flatMap((each) => namesOf(each, [...path, each.name()]))
}

// second-day.md §6, Audit log.
test('every command is in a list', async () => {
  const program = await openProgram(Object.keys(commands))
  expect(namesOf(program).sort()).toEqual([...Object.keys(recorded), ...silent].sort())
})

// changes.md §3, Asking for it.
test('every command that changes something leaves its entry', async () => {
  for (const [name, { what, args, ofAll, outcome = 'done' }] of Object.entries(recorded)) {
    const { code, output, json } = await sluice(database, [...name.split(' '), ...(await args())], {
      ...environment,
      ...bucket.environment,
    })
    expect([name, code, code === 0 || output]).toEqual([name, 0, true])
    if (name === 'apps create') appId = (json as { app_id: number }).app_id
    if (name === 'access-keys create') accessKeyId = (json as { access_key_id: string }).access_key_id
    if (name === 'webhooks add') endpointId = (json as { endpoint_id: string }).endpoint_id
    const [entry] = (await auditLogPage(database.db, {}, 1)).entries
    expect([name, entry]).toMatchObject([
      name,
      { what, app_id: ofAll ? null : appId, who_type: 'cli', who: expect.stringMatching(/./), outcome },
    ])
  }
  const { entries } = await auditLogPage(database.db, {}, 1000)
  expect(JSON.stringify(entries)).not.toMatch(/slc_\d|whsec_/)
}, 120_000)

test.each([
  ['app.set', () => ['app', 'set', ...app(), '--new-keys', 'refuse']],
  ['app.rename', () => ['app', 'rename', ...app(), '--name', 'Corner shop']],
  ['app.limits', () => ['app', 'limits', ...app(), '--bulk-import', '100/10m']],
  ['app.resume', () => ['app', 'resume', ...app()]],
  ['service.resume', () => ['resume']],
  ['member.add', () => ['member', 'add', ...app(), '--email', 'ben@example.com']],
  ['operator.add', () => ['operator', 'add', '--email', 'olga@example.com']],
])('%s that changes nothing leaves an entry that says so', async (what, args) => {
  const { appId: repeated } = await createApp(database.db, { name: 'Shop', email: 'anna@example.com' })
  appId = repeated
  const command = args()
  // The first time may change something; the second cannot.
  for (let time = 1; time <= 2; time++) expect((await run(...command)).code).toBe(0)
  const [entry] = (await auditLogPage(database.db, {}, 1)).entries
  expect(entry).toMatchObject({ what, outcome: 'unchanged' })
})

test.each([
  ['import.undo', ['imports', 'undo'], 'the import cannot be undone: it has not ended'],
  ['import.retry', ['imports', 'retry'], 'the import cannot be retried: it has not ended'],
  ['import.approve', ['imports', 'approve'], 'the import cannot be approved: it is not held, but queued'],
])('%s that is refused says why, and its entry says so', async (what, command, message) => {
  const { appId: ofQueued } = await createApp(database.db, { name: 'Shop', email: 'anna@example.com' })
  appId = ofQueued
  const { code, output } = await sluice(database, [...command, await queued()], {
    ...environment,
    ...bucket.environment,
  })
  expect([code, output]).toEqual([1, expect.stringContaining(message)])
  const [entry] = (await auditLogPage(database.db, {}, 1)).entries
  expect(entry).toMatchObject({ what, app_id: appId, outcome: 'refused' })
})

test('a command that fails leaves an entry with its outcome', async () => {
  expect((await run('token', 'register', '--app', '999')).code).toBe(1)
  const [entry] = (await auditLogPage(database.db, {}, 1)).entries
  expect(entry).toMatchObject({ what: 'token.register', app_id: 999, outcome: 'failed' })
})

// second-day.md §6, Audit lines.
test('sluice audit prints one document a line, with the filters of the pages', async () => {
  const lines = async (...args: string[]) => {
    const { output } = await run('audit', ...args)
    return output === ''
      ? []
      : output
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as AuditView)
  }
  expect(await lines(...app())).toEqual((await auditLogPage(database.db, { appId }, 1000)).entries)
  expect(await lines('--since', '1d')).toEqual((await auditLogPage(database.db, {}, 1000)).entries)
  expect(await lines(...app(), '--since', '2999-01-01T00:00:00Z')).toEqual([])
  expect(await lines(...app(), '--until', '2000-01-01T00:00:00Z')).toEqual([])
  const who = cliUser().name
  expect(await lines('--what', 'token.register', '--who', who)).toEqual(
    (await auditLogPage(database.db, { what: 'token.register', who }, 1000)).entries,
  )
  expect(await lines('--who', 'nobody@example.com')).toEqual([])
  expect((await run('audit', '--since', 'yesterday')).code).toBe(2)
  expect(await run('audit', '--what', 'token')).toMatchObject({
    code: 2,
    output: expect.stringContaining('app.create'),
  })
})
