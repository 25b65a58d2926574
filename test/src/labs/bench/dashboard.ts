import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { sql } from '@sluice/database'
import { addDeletions, addUsers } from '../../dashboard/sample-data.ts'
import type { Visitor } from '../../dashboard/visitor.ts'
import { openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { signInAsOperator } from './operator.ts'
import { median, quantile } from './statistics.ts'
import { printTargets } from './targets.ts'

/** The longest allowed median time of a page, ms. */
const limit = 100

/**
 * Measures the dashboard's pages with large tables, requested one after another from outside the process:
 * `[--users N] [--imports N] [--rounds N]`. Returns whether the slowest page meets the target.
 */
export async function benchDashboard(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      users: { type: 'string', default: '1000000' },
      imports: { type: 'string', default: '10000' },
      rounds: { type: 'string', default: '40' },
    },
  })
  const stack = await startStack()
  try {
    const { appId } = await openApp(stack)
    const importId = await fill(stack, appId, Number(values.users), Number(values.imports))
    const visitor = await signInAsOperator(stack)
    const paths = pagesOf(appId, importId)
    const times = new Map<string, number[]>(paths.map((path) => [path, []]))
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const path of paths) times.get(path)?.push(await time(visitor, path))
    }
    return printTargets(
      [...times].map(([path, taken]) => ({
        name: `${path.replace(importId, '{import}').replace(/user=.*/, 'user={user}')}, ms (95 % within ${quantile(taken, 0.95).toFixed(0)})`,
        measured: median(taken),
        must: limit,
        stretch: undefined,
        digits: 0,
      })),
    )
  } finally {
    await stack.stop()
  }
}

function pagesOf(appId: number, importId: string): string[] {
  const areas = [
    'imports',
    `imports/${importId}`,
    'data-import',
    'profiles',
    'profiles/user?user=user-4711',
    'deletions',
    'credentials',
    'settings',
  ]
  return [
    '/queues',
    '/apps',
    '/imports',
    '/imports?state=failed',
    '/imports?text=corrupt',
    ...areas.map((area) => `/apps/${appId}/${area}`),
  ]
}

/**
 * Inserts users with profiles, imports of the last 30 days (mostly completed), and deletion requests. Returns an
 * import's ID.
 */
async function fill({ db }: RunningStack, appId: number, users: number, imports: number): Promise<string> {
  await addUsers(db, appId, users)
  for (let request = 0; request < 200; request++) await addDeletions(db, appId)
  // A statement may take 30 s, so many imports take several.
  for (let first = 1; first <= imports; first += importsAtATime) {
    await addImports(db, appId, first, Math.min(imports, first + importsAtATime - 1))
  }
  await sql`analyze`.execute(db)
  const { import_id } = await db.selectFrom('imports').select('import_id').limit(1).executeTakeFirstOrThrow()
  return import_id
}

const importsAtATime = 50_000

async function addImports(db: RunningStack['db'], appId: number, first: number, last: number): Promise<void> {
  await sql`
    insert into imports (app_id, source, state, object_key, content_type, columns, types, rows_total, rows_applied, rows_failed,
      error, requested_at, queued_at, started_at, finished_at)
    select ${appId}, 'v3', case when n % 50 = 0 then 'failed' else 'completed' end, 'none', 'text/csv',
      '["user_id", "plan", "age", "score"]', '{"plan": "string", "age": "int", "score": "decimal"}',
      100000, 99000, 1000, case when n % 50 = 0 then 'file maybe corrupt' end, at, at, at, at + interval '4 seconds'
    from (select n, now() - n * interval '4 minutes' as at from generate_series(${first}::integer, ${last}::integer) as n) as times
    order by n desc
  `.execute(db)
}

/** Returns how long the whole page takes, ms. */
async function time(visitor: Visitor, path: string): Promise<number> {
  const started = performance.now()
  const { status, text } = await visitor.get(path)
  const took = performance.now() - started
  assert.equal(status, 200, `${path}: ${text}`)
  return took
}
