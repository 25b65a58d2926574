import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '@sluice/database'
import { until } from '../../environment/wait.ts'
import { type App, openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { deletedBatches } from '../../stack/worker-log.ts'
import { type LoadTarget, load } from './load.ts'
import { type SpanResult, steadyLoad } from './steady-load.ts'

const requests = 100
const usersOfRequest = 10_000
const stayingUsers = 10_000
const updatesPerSecond = 200
const idleMs = 30_000
const maxRatio = 3

/** How long the whole completion may take, ms. */
const completionTimeoutMs = 15 * 60_000

/**
 * Measures profile updates while a worker completes the deletion of 1,000,000 users. The updates are about other users
 * of the same app, and about users of another app.
 *
 * Returns whether the 99th percentile of an update stays under 3 times its value on an idle stack, without an error.
 */
export async function benchDeletions(): Promise<boolean> {
  const stack = await startStack({ env: { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s' } })
  try {
    const [app, other] = [await openApp(stack), await openApp(stack)]
    for (const { appId } of [app, other]) await addUsers(stack, appId, 'stay', stayingUsers)
    await addUsers(stack, app.appId, 'go', requests * usersOfRequest)
    await requestDeletions(stack, app)
    await settle(stack)
    const targets = [updatesOf(stack, app), updatesOf(stack, other)]
    for (const target of targets) await load(target, 4, 3_000) // warm-up

    const updates = steadyLoad(targets, updatesPerSecond)
    const began = performance.now()
    await delay(idleMs)
    const idleUntil = performance.now()
    await makeDue(stack, app)
    await until('the first batch', async () => (await progressOf(stack, app)).users > 0, completionTimeoutMs)
    const started = performance.now()
    await until('the completion', async () => (await progressOf(stack, app)).isCompleted, completionTimeoutMs)
    const completed = performance.now()
    await updates.stop()
    assert.equal((await progressOf(stack, app)).users, requests * usersOfRequest, 'users deleted')
    const spans = { idle: updates.between(began, idleUntil), during: updates.between(started, completed) }
    const batches = await deletedBatches(stack.home, app.appId)
    return report(spans, (completed - started) / 1000, Math.max(...batches.map(({ ms }) => ms)))
  } finally {
    await stack.stop()
  }
}

/** Registers users with five profile values each, directly in the database, because this is not measured. */
async function addUsers({ db }: RunningStack, appId: number, name: string, count: number): Promise<void> {
  await sql`
    insert into profile_keys (app_id, key, type)
    select ${appId}, key, type from (values ('name', 'string'), ('city', 'string'), ('age', 'int'), ('score', 'decimal'),
      ('seen', 'datetime')) as k (key, type)
    on conflict do nothing
  `.execute(db)
  await sql`
    with registered as (
      insert into users (app_id, user_id) select ${appId}, ${name} || '-' || n from generate_series(1, ${count}::integer) n
    )
    insert into profiles (app_id, user_id, attributes, updated_at)
    select ${appId}, ${name} || '-' || n, jsonb_build_object('name', 'Name ' || n, 'city', 'City ' || n % 1000,
      'age', n % 100, 'score', n * 0.5, 'seen', '2026-01-01 10:00:00.000'), now()
    from generate_series(1, ${count}::integer) n
  `.execute(db)
}

/** Requests deletions. The users of each request are spread over the whole table, so that they are not neighbours. */
async function requestDeletions({ api }: RunningStack, { token }: App): Promise<void> {
  for (let request = 0; request < requests; request++) {
    const userIds = Array.from({ length: usersOfRequest }, (_, index) => `go-${index * requests + request + 1}`)
    const response = await fetch(`${api}/v3/user_data_deletions`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Service-Token': token },
      body: JSON.stringify({ identity_type: 'user_id', identity_value: userIds }),
    })
    assert.equal(response.status, 202, 'status of the deletion request')
  }
}

/** Finishes the preparation's background work, so that it counts in neither measurement. */
async function settle({ db }: RunningStack): Promise<void> {
  await sql`vacuum (analyze)`.execute(db)
  await sql`checkpoint`.execute(db)
}

/** Moves the dates of the requests back by 70 days, so that the worker's next maintenance finds the requests due. */
async function makeDue({ db }: RunningStack, { appId }: App): Promise<void> {
  await sql`
    update deletion_requests
    set accepted_at = accepted_at - interval '70 days', starts_at = starts_at - interval '70 days',
      completes_at = completes_at - interval '70 days'
    where app_id = ${appId}
  `.execute(db)
}

async function progressOf({ db }: RunningStack, { appId }: App): Promise<{ users: number; isCompleted: boolean }> {
  const { rows } = await sql<{ users: number; is_completed: boolean }>`
    select sum(users_deleted)::integer as users, bool_and(state = 'completed') as is_completed
    from deletion_requests where app_id = ${appId}
  `.execute(db)
  return { users: rows[0]?.users ?? 0, isCompleted: rows[0]?.is_completed ?? false }
}

function updatesOf({ api }: RunningStack, { token }: App): LoadTarget {
  let count = 0
  const next = () => {
    count++
    const body = JSON.stringify({
      user_id: `stay-${((count * 7919) % stayingUsers) + 1}`,
      user_profiles: [
        { key: 'name', type: 'string', value: `New name ${count}` },
        { key: 'age', type: 'int', value: count },
      ],
    })
    return { headers: { 'X-Service-Token': token }, body }
  }
  return { url: `${api}/v2/user_profiles`, next, expected: 202 }
}

function report({ idle, during }: Record<'idle' | 'during', SpanResult>, seconds: number, longest: number): boolean {
  const ratio = during.p99 / idle.p99
  const errors = idle.errors + during.errors
  const line = (name: string, { p50, p99, requests }: SpanResult) =>
    console.log(`${name.padEnd(22)}p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  (${requests} updates)`)
  console.log(`${requests * usersOfRequest} users in ${requests} requests deleted in ${seconds.toFixed(1)} s`)
  console.log(`longest transaction ${longest} ms`)
  console.log(`profile updates of others, ${updatesPerSecond} a second`)
  line('idle', idle)
  line('during the completion', during)
  console.log(`ratio of the p99 ${ratio.toFixed(2)} (target under ${maxRatio}), errors ${errors}`)
  return ratio < maxRatio && errors === 0
}
