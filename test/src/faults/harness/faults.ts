import { setTimeout as delay } from 'node:timers/promises'
import { type Database, retryConflicts, sql, waitedTooLong } from '@sluice/database'
import { pauseImports, resumeImports } from '@sluice/imports'
import pg from 'pg'
import { pick, type Random } from '../../environment/random.ts'
import { retry } from './client.ts'
import type { Deployment } from './deployment.ts'
import { generatedUsers } from './generate.ts'
import type { StorageFault } from './storage-proxy.ts'
import type { NetworkState, TcpProxy } from './tcp-proxy.ts'

interface FaultContext {
  deployment: Deployment
  random: Random
  /** How long the fault lasts, ms. Instantaneous faults ignore it. */
  durationMs: number
}

/** Breaks something. Before the promise settles, repairs whatever does not recover by itself. */
export type Fault = (context: FaultContext) => Promise<void>

const endings: Record<string, Fault> = {
  'worker killed': async ({ deployment, random }) => killOne(deployment.workers(), random),
  'worker told to end': async ({ deployment, random }) => killOne(deployment.workers(), random, 'SIGTERM'),
  'API killed': async ({ deployment, random }) => killOne(deployment.apis(), random),
  'whole stack killed': killEverything,
}

/** Faults that every process survives, by their names in the figures. */
export const survivableFaults: Record<string, Fault> = {
  'worker stopped': ({ deployment, random, durationMs }) => stopOne(deployment.workers(), random, durationMs),
  'Postgres: backends terminated': terminateBackends,
  'Postgres: fast restart': ({ deployment }) => deployment.postgres.restart('fast'),
  'Postgres: crash': ({ deployment }) => deployment.postgres.restart('immediate'),
  'Postgres: refused': network(({ postgres }) => postgres.proxy, { kind: 'refuse' }),
  'Postgres: half-open': network(({ postgres }) => postgres.proxy, { kind: 'stall' }),
  'Postgres: deadlocks': provokeDeadlocks,
  'Postgres: serialization failures': provokeSerializationFailures,
  'imports of an app paused': async ({ deployment: { db }, random, durationMs }) => {
    const apps = await retry('the apps', () => db.selectFrom('apps').select('app_id').orderBy('app_id').execute())
    await pauseFor(db, pick(apps, random).app_id, durationMs)
  },
  'imports of all apps paused': ({ deployment: { db }, durationMs }) => pauseFor(db, undefined, durationMs),
  'queue: everything forgotten': forgetQueue,
  'storage: refused': network(({ storageNetwork }) => storageNetwork, { kind: 'refuse' }),
  'storage: half-open': network(({ storageNetwork }) => storageNetwork, { kind: 'stall' }),
  'storage: slow': network(({ storageNetwork }) => storageNetwork, { kind: 'slow', bytesPerSecond: 50_000 }),
  'storage: 500': storage(() => ({ kind: 'answer', status: 500, code: 'InternalError' })),
  'storage: 503': storage(() => ({ kind: 'answer', status: 503, code: 'SlowDown' })),
  'storage: cut in a GET': storage((random) => ({ kind: 'cut answer', afterBytes: random(20_000) }), 'GET'),
  'storage: cut in a PUT': storage((random) => ({ kind: 'cut request', afterBytes: random(2_000) }), 'PUT'),
  'SMTP: refused': network(({ mailNetwork }) => mailNetwork, { kind: 'refuse' }),
  'SMTP: slow': network(({ mailNetwork }) => mailNetwork, { kind: 'slow', bytesPerSecond: 500 }),
  'SMTP: accepted, then dropped': dropAcknowledgements,
}

/** Faults of a random schedule. */
export const faults: Record<string, Fault> = { ...endings, ...survivableFaults }

/** Additional faults of a deployment that sets the clock of Postgres. */
const clockFaults: Record<string, Fault> = {
  'Postgres: clock set back': async ({ deployment, random, durationMs }) => {
    await deployment.postgres.clock?.set(-10 - random(2 * 60 * 60))
    await delay(durationMs)
    await deployment.postgres.clock?.set(0)
  },
}

const redisFaults: Record<string, Fault> = {
  'Redis: refused': network(redisProxy, { kind: 'refuse' }),
  'Redis: half-open': network(redisProxy, { kind: 'stall' }),
}

/** Returns the faults that only some deployments can have. Says so if the clock of Postgres cannot be set here. */
export function additionalFaults({ redis, postgres }: Deployment): Record<string, Fault> {
  if (postgres.clock === undefined) console.error('libfaketime is not installed: nobody sets the clock of Postgres')
  return { ...(redis && redisFaults), ...(postgres.clock && clockFaults) }
}

function redisProxy({ redis }: Deployment): TcpProxy {
  if (redis === undefined) throw new Error('this deployment has no Redis')
  return redis.proxy
}

interface Killable {
  kill(signal: NodeJS.Signals): void
}

function killOne(processes: readonly Killable[], random: Random, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): void {
  if (processes.length > 0) pick(processes, random).kill(signal)
}

async function stopOne(processes: readonly Killable[], random: Random, durationMs: number): Promise<void> {
  if (processes.length === 0) return
  const stopped = pick(processes, random)
  stopped.kill('SIGSTOP')
  await delay(durationMs)
  stopped.kill('SIGCONT')
}

async function killEverything({ deployment }: FaultContext): Promise<void> {
  for (const process of [...deployment.apis(), ...deployment.workers()]) process.kill('SIGKILL')
  await deployment.postgres.restart('immediate')
}

/** Sets the state of a network for a while. */
function network(proxyOf: (deployment: Deployment) => TcpProxy, state: NetworkState): Fault {
  return async ({ deployment, durationMs }) => {
    proxyOf(deployment).set(state)
    await delay(durationMs)
    proxyOf(deployment).set({ kind: 'fine' })
  }
}

async function terminateBackends({ deployment }: FaultContext): Promise<void> {
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and application_name like 'sluice%'
  `.execute(deployment.db)
}

/**
 * Locks users in random order. The long `deadlock_timeout` of this connection makes the worker's connection detect the
 * deadlock first, so that Postgres aborts the worker's transaction.
 */
async function provokeDeadlocks({ deployment, random, durationMs }: FaultContext): Promise<void> {
  const client = new pg.Client({ connectionString: deployment.databaseUrl })
  client.on('error', () => {})
  await client.connect()
  const end = performance.now() + durationMs
  try {
    await client.query("set deadlock_timeout = '1min'; set lock_timeout = '2s'")
    while (performance.now() < end) await lockUsers(client, random)
  } finally {
    await client.end()
  }
}

async function lockUsers(client: pg.Client, random: Random): Promise<void> {
  await client.query('begin')
  try {
    for (let lock = 0; lock < 4; lock++) {
      const user = pick(generatedUsers, random)
      await client.query('select from profiles where user_id = $1 for update', [user])
      await delay(50)
    }
  } catch (error) {
    // On a loaded machine a batch may hold its users for longer than this connection waits.
    if (!waitedTooLong(error)) throw error
  }
  await client.query('rollback')
}

/**
 * Makes about half of the batches fail with the error that Postgres reports if two transactions cannot be serialized.
 */
async function provokeSerializationFailures({ deployment: { db }, durationMs }: FaultContext): Promise<void> {
  await sql
    .raw(`
    create or replace function watch.conflict() returns trigger language plpgsql as $$
    begin
      if random() < 0.5 then raise serialization_failure using message = 'could not serialize access (simulated)'; end if;
      return new;
    end $$;
    create or replace trigger conflict before update on imports for each row
      when (old.position <> new.position) execute function watch.conflict()
  `)
    .execute(db)
  await delay(durationMs)
  await sql`drop trigger conflict on imports`.execute(db)
}

/** Deletes all jobs: restarts Redis without its data, or empties the queue's tables in Postgres. */
async function forgetQueue({ deployment }: FaultContext): Promise<void> {
  if (deployment.redis !== undefined) await deployment.redis.restart()
  else {
    const forget = sql`
      with jobs as (delete from bullmq.job), schedules as (delete from bullmq.scheduler)
      delete from bullmq.meta where field <> 'version'
    `
    // Workers lock the same rows in another order, so this statement may deadlock.
    await retryConflicts(() => forget.execute(deployment.db))
  }
}

/** Lets requests to storage fail for a while: all requests, or those of a method. */
function storage(faultOf: (random: Random) => StorageFault, method?: string): Fault {
  return async ({ deployment: { storageFaults }, random, durationMs }) => {
    const fault = faultOf(random)
    storageFaults.set((request) => (method === undefined || request.method === method ? fault : undefined))
    await delay(durationMs)
    storageFaults.set(undefined)
  }
}

async function dropAcknowledgements({ deployment: { mail, mailNetwork }, durationMs }: FaultContext): Promise<void> {
  mail.insteadOfAnswer = mailNetwork.reset
  await delay(durationMs)
  mail.insteadOfAnswer = undefined
}

/** Pauses the imports of an app, or of all apps, as an operator does. */
async function pauseFor(db: Database, appId: number | undefined, durationMs: number): Promise<void> {
  await retry('the pause', () => pauseImports(db, appId))
  await delay(durationMs)
  await retry('the end of the pause', () => resumeImports(db, appId))
}

export interface InjectionOptions {
  random: Random
  faults: Readonly<Record<string, Fault>>
  /** Upper bound for the duration of a fault, ms. */
  longestFaultMs: number
  /** Stops the injection after the fault in flight. */
  over: AbortSignal
  afterFault?(name: string): Promise<void>
}

/** Injects one fault after another. Every kind occurs once before any is repeated. Returns how often each occurred. */
export async function injectFaults(deployment: Deployment, options: InjectionOptions): Promise<Record<string, number>> {
  const { random, over, longestFaultMs } = options
  const counts: Record<string, number> = {}
  let left: [string, Fault][] = []
  while (!over.aborted) {
    if (left.length === 0) left = Object.entries(options.faults)
    const next = pick(left, random)
    left.splice(left.indexOf(next), 1)
    const [name, inject] = next
    // A fault may also break the connection that injects it.
    await inject({ deployment, random, durationMs: 300 + random(longestFaultMs) }).catch(() => {})
    addCounts(counts, { [name]: 1 })
    await options.afterFault?.(name)
    await delay(random(300))
  }
  return counts
}

/** Adds counts by name to the sums so far. */
export function addCounts(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count
}
