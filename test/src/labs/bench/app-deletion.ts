import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { sql } from '@sluice/database'
import { addUsers } from '../../dashboard/sample-data.ts'
import { openApp } from '../../stack/client.ts'
import { startStack } from '../../stack/running-stack.ts'
import { makeFile, shapesOf } from './import/file.ts'
import { startBenchPostgres } from './import/postgres.ts'
import { follow, profileUpdates, registerUsersOf, upload } from './mixed-load.ts'
import { openScratch } from './scratch.ts'
import { steadyLoad } from './steady-load.ts'
import { printTargets } from './targets.ts'

const perSecond = 200
const database = 'bench_app_deletion'

/** Number of rows in the file that another app imports repeatedly during the deletion. */
const rowsBeside = 500_000

/**
 * Measures how long the deletion of an app takes while another app has imports and 200 profile updates a second.
 * `[--users N]`. Returns whether the targets are met.
 */
export async function benchAppDeletion(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({ args: [...args], options: { users: { type: 'string', default: '1000000' } } })
  await using scratch = await openScratch('sluice-bench-app-deletion-')
  await using running = new AsyncDisposableStack()
  const postgres = await startBenchPostgres(scratch.path)
  running.defer(() => postgres.stop())
  await postgres.run('postgres', `create database ${database}`)
  const settings = { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', LOG_LEVEL: 'warn' }
  const stack = await startStack({ env: { ...settings, DATABASE_URL: postgres.urlOf(database) } })
  running.defer(() => stack.stop())

  const [deleted, other] = [await openApp(stack), await openApp(stack)]
  await addUsers(stack.db, deleted.appId, Number(values.users))
  const file = await makeFile(scratch.path, shapesOf(rowsBeside).first)
  await registerUsersOf(stack, other, file)
  await postgres.settle(database)

  const reached = { row: 0 }
  const load = steadyLoad([profileUpdates(stack, other, file, reached)], perSecond)
  const ended = new AbortController()
  const imports = (async () => {
    let count = 0
    for (; !ended.signal.aborted; count++) await follow(stack, await upload(stack, other, file), file, reached)
    return count
  })()
  const began = performance.now()
  const { code, stderr } = await stack.pipeToSluice('', 'app', 'delete', '--app', String(deleted.appId), '--yes')
  const end = performance.now()
  ended.abort()
  assert.equal(code, 0, stderr)
  const importsBeside = await imports
  await load.stop()
  const { requests, p99, errors } = load.between(began, end)
  console.log(
    `beside ${importsBeside} imports of ${rowsBeside} rows and ${requests} updates (p99 ${p99.toFixed(1)} ms)`,
  )
  const { rows } = await sql<{ left: number }>`
    select (select count(*) from users where app_id = ${deleted.appId})
      + (select count(*) from profiles where app_id = ${deleted.appId}) as left`.execute(stack.db)
  const none = { must: 0, stretch: undefined, digits: 0 } as const
  return printTargets([
    { name: 'deletion of the app, s', measured: (end - began) / 1000, must: 180, stretch: undefined, digits: 0 },
    { name: 'users and profiles that are left', measured: Number(rows[0]?.left ?? Number.NaN), ...none },
    { name: 'updates not answered with 202', measured: errors, ...none },
  ])
}
