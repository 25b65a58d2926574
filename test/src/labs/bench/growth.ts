import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { dispatchNextInOrder, importBacklog, importSettings } from '@sluice/imports'
import { embeddedStorageAccess } from '@sluice/local-stack'
import { importOverview } from '@sluice/operations'
import { profileStatistics } from '@sluice/profiles'
import { addOperator } from '@sluice/sign-in'
import { openStorage } from '@sluice/storage'
import { pino } from 'pino'
import { addUsers } from '../../dashboard/sample-data.ts'
import { signIn, type Visitor } from '../../dashboard/visitor.ts'
import { type App, openApp, updateAge } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { median, printTargets, type Target } from './measuring.ts'

interface Size {
  apps: number
  usersPerApp: number
  endedImports: number
}

/**
 * A deployment of some size, and its measures. Each function in `measures` does once the work whose time is measured.
 */
interface Deployment extends AsyncDisposable {
  measures: Record<string, () => Promise<unknown>>
}

/**
 * Number of imports in the last eight days, in every deployment. A large deployment has a longer history, not busier
 * days.
 */
const recentImports = 5_000

const small: Size = { apps: 10, usersPerApp: 1_000, endedImports: recentImports }

/** Number of apps with a waiting import, in every deployment. */
const waitingApps = 5

/**
 * Measures whether a deployment gets slower as it grows: with 10,000 apps of 1,000 users each instead of 10, and with
 * 1,000,000 ended imports instead of 5,000. A small and a large deployment run at the same time, and are asked in turn.
 * `[--apps N] [--imports N] [--rounds N] [--only apps,imports]`. Returns whether the targets are met.
 */
export async function benchGrowth(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      apps: { type: 'string', default: '10000' },
      imports: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '100' },
      only: { type: 'string', default: 'apps,imports' },
    },
  })
  const only = values.only.split(',')
  const rounds = Number(values.rounds)
  const targets: Target[] = []
  if (only.includes('apps')) {
    targets.push(...(await compare(`${values.apps} apps`, { ...small, apps: Number(values.apps) }, rounds, 1.2)))
  }
  if (only.includes('imports')) {
    const many = { ...small, endedImports: Number(values.imports) }
    targets.push(...(await compare(`${values.imports} ended imports`, many, rounds, 1.1)))
  }
  return printTargets(targets)
}

/** Measures a small deployment and a large one in turn. Returns a target for each measure: large ÷ small. */
async function compare(name: string, large: Size, rounds: number, must: number): Promise<Target[]> {
  await using few = await openDeployment(small)
  await using many = await openDeployment(large)
  const targets: Target[] = []
  for (const measure of Object.keys(few.measures)) {
    const times: [number[], number[]] = [[], []]
    for (let round = -10; round < rounds; round++) {
      for (const [side, { measures }] of [few, many].entries()) {
        const started = performance.now()
        await measures[measure]?.()
        // The first rounds warm up.
        if (round >= 0) times[side]?.push(performance.now() - started)
      }
    }
    const [a, b] = times.map(median)
    console.error(`${name}, ${measure}: ${a?.toFixed(2)} ms, ${b?.toFixed(2)} ms`)
    const measured = (b ?? Number.NaN) / (a ?? Number.NaN)
    targets.push({ name: `${name}: ${measure}`, measured, must })
  }
  return targets
}

async function openDeployment(size: Size): Promise<Deployment> {
  await using parts = new AsyncDisposableStack()
  // The worker hosts neither imports nor maintenance: what waits keeps waiting.
  const stack = await startStack({
    env: { WORKER_QUEUES: 'mails', RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', LOG_LEVEL: 'warn' },
  })
  parts.defer(stack.stop)
  const app = await openApp(stack)
  await addUsers(stack.db, app.appId, size.usersPerApp)
  await addApps(stack, size)
  await addEndedImports(stack, app.appId, size.endedImports)
  await addWaitingImports(stack)
  await sql`vacuum analyze`.execute(stack.db)
  const { storage: endpoint } = await stack.info()
  const storage = openStorage({ S3_ENDPOINT: endpoint, ...(await embeddedStorageAccess(stack.home, {})) })
  parts.defer(storage.close)
  const settings = readSettings({ API_URL: stack.api }, importSettings)
  const context = { db: stack.db, storage, settings, log: pino({ level: 'silent' }) }
  const measures = {
    'dispatching what is next': () => dispatchNextInOrder(context),
    'figures for autoscaling': () => importBacklog(stack.db),
    'overview of imports': () => importOverview(stack.db),
    'statistics of an app': () => profileStatistics(stack.db, app.appId, 500),
    'profile update': () => update(stack, app),
    ...pages(await signInAsOperator(stack), app.appId),
  }
  const kept = parts.move()
  return { measures, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

async function signInAsOperator(stack: RunningStack): Promise<Visitor> {
  const email = 'operator@example.com'
  const { dashboard } = await stack.info()
  assert(dashboard)
  await addOperator(stack.db, email)
  return await signIn({ db: stack.db, url: dashboard }, email)
}

/** Adds the other apps, with users but without profiles. No measure depends on the number of profiles. */
async function addApps({ db }: RunningStack, { apps, usersPerApp }: Size): Promise<void> {
  for (let added = 1; added < apps; added += appsAtATime) {
    const count = Math.min(appsAtATime, apps - added)
    await sql`
      with app as (
        insert into apps (name) select 'App ' || n from generate_series(1, ${count}::integer) as n returning app_id
      )
      insert into users (app_id, user_id)
      select app_id, 'user-' || n from app, generate_series(1, ${usersPerApp}::integer) as n
    `.execute(db)
  }
}

/** Number of apps that one statement adds. A statement may take 30 s, so many apps need several statements. */
const appsAtATime = 500

/** Adds ended imports, half of them of one app: {@link recentImports} of the last eight days, the others before. */
async function addEndedImports({ db }: RunningStack, appId: number, count: number): Promise<void> {
  for (let first = 1; first <= count; first += importsAtATime) {
    const last = Math.min(count, first + importsAtATime - 1)
    await sql`
      with others as (select array_agg(app_id) as ids from (select app_id from apps order by app_id limit 10) as few)
      insert into imports (app_id, source, state, object_key, content_type, file_name, rows_total, rows_applied,
        rows_failed, error, requested_at, queued_at, started_at, finished_at, files_removed_at)
      select case when n % 2 = 0 then ${appId}::integer else ids[1 + n % array_length(ids, 1)] end, 'v3',
        case when n % 50 = 0 then 'failed' else 'completed' end, 'none', 'text/csv', 'users-' || n || '.csv',
        100000, 99000, 1000, case when n % 50 = 0 then 'file maybe corrupt' end, at, at, at, at, at
      from others, (
        select n, now() - least(n, ${recentImports}) * interval '8 days' / ${recentImports}
          - greatest(n - ${recentImports}, 0) * interval '392 days' / ${count}::integer as at
        from generate_series(${first}::integer, ${last}::integer) as n
      ) as times
      order by n desc
    `.execute(db)
  }
}

const importsAtATime = 50_000

/** Adds an import that waits for a worker to each of the first apps. */
async function addWaitingImports({ db }: RunningStack): Promise<void> {
  await sql`
    insert into imports (app_id, source, state, object_key, content_type, queued_at)
    select app_id, 'v3', 'queued', 'none', 'text/csv', now() from apps order by app_id limit ${waitingApps}
  `.execute(db)
}

async function update({ api }: RunningStack, { token }: App): Promise<void> {
  const { status, text } = await updateAge(api, token, { user: 'user-1', age: 40 })
  assert.equal(status, 202, text)
}

function pages(visitor: Visitor, appId: number): Deployment['measures'] {
  const areas = ['imports', 'data-import', 'profiles', 'deletions', 'credentials', 'settings']
  const paths = ['/queues', '/imports', '/imports?state=failed', ...areas.map((area) => `/apps/${appId}/${area}`)]
  const open = async (path: string) => {
    const { status, text } = await visitor.get(path)
    assert.equal(status, 200, `${path}: ${text}`)
  }
  return Object.fromEntries(paths.map((path) => [`page ${path.replace(`${appId}`, '{app}')}`, () => open(path)]))
}
