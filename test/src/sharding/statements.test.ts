import { sql } from '@sluice/database'
import { addEndpoint } from '@sluice/webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { openTestApi } from '../api/test-api.ts'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { compareWithModel } from '../faults/harness/comparison.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { openSmallDeployment } from '../faults/harness/small-deployment.ts'
import { watchImports } from '../faults/harness/watcher.ts'
import { logPlansOf, readPlans, tablesReadAcrossApps } from './plans.ts'
import { useEverything } from './use-everything.ts'

/**
 * Statements that read all apps, by index: maintenance, which one process at a time runs every second or less often,
 * and links that name only an import. A sharded database sends them to all shards.
 */
const acrossApps: Record<string, RegExp> = {
  'dispatch of the imports that are next in order': /^update imports set dispatched_at = now\(\)/,
  'the import that is to run next': /select i.app_id, i.import_id from imports i left join import_slot_time/,
  'uploads that are awaited': /^update imports i set upload_check_at/,
  'requests that died before their file was taken':
    /^update "imports" set "state" = .* where .*is_due\(upload_check_at/,
  'reports of cancelled imports, and ends of held ones': /^update imports set attempt .* where \(report_due/,
  'files to remove': /^select app_id, import_id, finished_at::text as finished_at from imports/,
  'due mails': /^with recursive waiting as \( \(select app_id from mails/,
  'deletions that start': /^update deletion_requests set state = 'started'/,
  'deletions that complete': /^select distinct "app_id", "completes_at" from "deletion_requests"/,
  'unannounced files that could not be imported': /^select .* from "unannounced_file_failures"$/,
  'abandoned bucket uploads': /^select \* from "bucket_uploads" where \(?\s*started_at </,
  'removal of expired hashes of deleted IDs': /^delete from recently_deleted_users/,
  'apps that are being deleted': /^select "app_id" from "apps" where "deleting_at" is not null/,
  'imports that ended long ago': /^delete from imports where \(app_id, import_id\) in/,
  'mails that were sent long ago': /^delete from mails where \(app_id, mail_id\) in/,
  'due webhook deliveries': /^with recursive w as \( \(select app_id, endpoint_id from webhook_deliveries/,
  'webhook deliveries that ended long ago': /^delete from webhook_deliveries where \(app_id, delivery_id\) in/,
  'webhook endpoints that were removed':
    /^select "app_id", "endpoint_id" from "webhook_endpoints" where "removed_at" is not null/,
  'secrets that no key of a starting process decrypts': /^select 'access keys' as kind where exists/,
  'exports that a worker can claim': /^select app_id, export_id, attempt from exports e where/,
  'the export that is to run next': /^update exports set state = 'processing'/,
  'files of exports to remove': /^select app_id, export_id, attempt, coalesce/,
  'links to exports': /^select "app_id", "attempt", "file_secret", .* from "exports" where "export_id" =/,
  'removal of old idempotency keys': /^delete from idempotency_keys/,
  'history for operators': /^with span as \( select greatest\(\(select max\(slot\) from queue_history/,
  'links to files of imports': /^select "(error|changes)_file_key" as "key", .* from "imports" where "import_id" =/,
}

/** Statements across apps that only some runs execute. They serve imports that wait for a long time. */
const nowAndThen = [
  /^select count\(\*\) as waiting from imports i/,
  /select exists \( select from imports i where \(i.dispatched_at is not null/,
]

/**
 * Whether the import's app is paused. Depending on its statistics, Postgres asks for this app, or reads the few paused
 * apps by their own index.
 */
const isPaused = /exists \(select from paused_apps p where p.app_id = imports.app_id\)/

/** Statements of the test itself. */
const ofTheTest = [
  /^select "import_id", "state", "rows_total", "tries", "attempt", "retry_at", "lease_until" from "imports"/,
  /^update "mails" set "next_attempt_at" = least/,
  /^select "mail_id" from "mails"/,
]

/** Returns the routes of the API that may change something and of which no request was sent. */
async function changingRoutesWithout(sent: readonly string[]): Promise<string[]> {
  const { api, close } = await openTestApi()
  onTestFinished(close)
  const isSent = (route: string) => {
    const pattern = new RegExp(`^${route.replaceAll(/:\w+/g, '[^/]+')}$`)
    return sent.some((each) => pattern.test(each))
  }
  return Object.keys(api.auditedRoutes()).filter((route) => !isSent(route))
}

// design.md §5, Statements.
test('every statement of a request and of an import names the app, so that tables can be spread by app', async () => {
  const deployment = await openSmallDeployment()
  onTestFinished(() => deployment.close())
  const logFile = await logPlansOf(deployment.databaseUrl)
  await watchImports(deployment.db)
  await Promise.all([deployment.start('api'), deployment.start('worker')])
  const apps = [await openClientApp(deployment), await openClientApp(deployment)]
  for (const app of apps) {
    // Each attempt is refused, since the address is not public.
    const rule = { allowsHttp: false, isAllowed: () => true }
    await addEndpoint(deployment.db, { keys: [Buffer.alloc(32)], rule }, app.appId, { url: 'https://10.0.0.1/' })
    for (let number = 0; number < 3; number++)
      await upload(deployment, app, generateSoundFile(seeded(number), number, 200))
  }
  const { violations } = await compareWithModel(deployment, apps)
  expect(violations).toEqual([])
  const [sent = []] = await Promise.all(apps.map((app) => useEverything(deployment, app)))
  expect(await changingRoutesWithout(sent)).toEqual([])
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'app_id'
  `.execute(deployment.db)
  await until('an attempt to send a webhook of each app', async () => {
    const rows = await deployment.db
      .selectFrom('webhook_deliveries')
      .select('app_id')
      .distinct()
      .where(
        'app_id',
        'in',
        apps.map(({ appId }) => appId),
      )
      .where('last_error', 'is not', null)
      .execute()
    return rows.length === apps.length
  })
  await deployment.stopApps()

  const keyed = new Set(rows.map(({ name }) => name))
  const statements = await readPlans(logFile)
  const crossing = new Map<string, string[]>()
  for (const statement of statements) {
    const tables = tablesReadAcrossApps(statement, keyed)
    if (isPaused.test(statement.text) && tables.every((table) => table === 'apps')) continue
    if (tables.length > 0) crossing.set(statement.text, tables)
  }
  const known = [...Object.values(acrossApps), ...nowAndThen, ...ofTheTest]
  expect([...crossing.keys()].filter((text) => !known.some((each) => each.test(text)))).toEqual([])
  // Each listed statement was seen: no entry is out of date.
  const unseen = Object.keys(acrossApps).filter(
    (name) => ![...crossing.keys()].some((text) => acrossApps[name]?.test(text)),
  )
  expect(unseen).toEqual([])
}, 180_000)
