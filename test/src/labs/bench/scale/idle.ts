import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { sql } from '@sluice/database'
import { startRedis } from '../../../environment/redis.ts'
import { openScratch } from '../../../environment/scratch.ts'
import { startStack } from '../../../stack/running-stack.ts'
import { startBenchPostgres } from '../import/postgres.ts'

/**
 * Time for processes to warm up, and time of the measurement, ms. Each connection plans its statements anew, and an
 * idle worker has few reasons to use them.
 */
const [settleMs, spanMs] = [120_000, 60_000]

/** What idle workers cost Postgres and Redis. */
export interface IdleResult {
  workers: number
  /** Statements that Postgres executes, and commands that Redis executes, per second. */
  statements: number
  commands: number
  /** CPU seconds used per second. */
  postgresCpu: number
  redisCpu: number
}

/** Measures what `workers` worker processes cost Postgres and Redis while there is nothing to do. */
export async function measureIdle(workers: number): Promise<IdleResult> {
  await using parts = new AsyncDisposableStack()
  const scratch = parts.use(await openScratch('sluice-bench-idle-'))
  const redis = await startRedis(scratch.path, { ofItsOwn: true })
  if (redis === undefined) throw new Error('this benchmark needs a redis-server on the path')
  parts.defer(redis.stop)
  const settings = { max_connections: '1000', shared_preload_libraries: 'pg_stat_statements' }
  const postgres = await startBenchPostgres(scratch.path, settings)
  parts.defer(() => postgres.stop())
  await postgres.run('postgres', 'create database bench')
  await postgres.run('bench', 'create extension pg_stat_statements')
  const env = { LOG_LEVEL: 'warn', DATABASE_URL: postgres.urlOf('bench') }
  const stack = await startStack({ workers, redisUrl: redis.url, env })
  parts.defer(() => stack.stop())
  await delay(settleMs)
  const read = async () => {
    const { rows } = await sql<{ calls: number }>`
      select sum(calls)::float8 as calls from pg_stat_statements where toplevel`.execute(stack.db)
    return {
      calls: rows[0]?.calls ?? 0,
      cpu: await postgres.cpu(),
      redis: await redisFigures(redis.url),
      at: Date.now(),
    }
  }
  const before = await read()
  await delay(spanMs)
  const after = await read()
  const seconds = (after.at - before.at) / 1000
  return {
    workers,
    statements: (after.calls - before.calls) / seconds,
    commands: (after.redis.commands - before.redis.commands) / seconds,
    postgresCpu: (after.cpu - before.cpu) / seconds,
    redisCpu: (after.redis.cpu - before.redis.cpu) / seconds,
  }
}

async function redisFigures(url: string): Promise<{ commands: number; cpu: number }> {
  const { stdout } = await promisify(execFile)('redis-cli', ['-u', url, 'info', 'all'])
  const figure = (name: string) => Number(new RegExp(`^${name}:(.*)$`, 'm').exec(stdout)?.[1])
  return {
    commands: figure('total_commands_processed'),
    cpu: figure('used_cpu_user') + figure('used_cpu_sys'),
  }
}
