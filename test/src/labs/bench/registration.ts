import assert from 'node:assert/strict'
import { createReadStream, createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import type pg from 'pg'
import { openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { copyLines } from './import/copy.ts'
import { connectTo } from './import/postgres.ts'
import { openScratch } from './scratch.ts'
import { median } from './statistics.ts'
import { printTargets } from './targets.ts'

/**
 * Compares `sluice users register` to COPY into a staging table and one INSERT … ON CONFLICT DO NOTHING into a table
 * like Sluice's: `[--users N] [--rounds N]`. Returns whether the target is met.
 */
export async function benchRegistration(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { users: { type: 'string', default: '1000000' }, rounds: { type: 'string', default: '3' } },
  })
  const users = Number(values.users)
  await using scratch = await openScratch('sluice-bench-registration-')
  const ids = join(scratch.path, 'ids')
  const stack = await startStack()
  const client = await connectTo((await stack.info()).database)
  try {
    await pipeline(Readable.from(linesOf(users)), createWriteStream(ids))
    await client.query('create table yardstick (like users including all)')
    const byHand: number[] = []
    const bySluice: number[] = []
    for (let round = 0; round < Number(values.rounds); round++) {
      byHand.push(await registerByHand(client, ids))
      bySluice.push(await registerBySluice(stack, client, ids, users))
    }
    console.log(
      `${users} users: by hand ${median(byHand).toFixed(2)} s, sluice users register ${median(bySluice).toFixed(2)} s`,
    )
    const measured = median(bySluice.map((seconds, round) => seconds / (byHand[round] ?? Number.NaN)))
    return printTargets([
      { name: 'sluice users register ÷ by hand', measured, must: 1.5, stretch: undefined, digits: 2 },
    ])
  } finally {
    await client.end()
    await stack.stop()
  }
}

function* linesOf(users: number): Generator<string> {
  for (let user = 0; user < users; user += 1000) {
    const block = Array.from({ length: Math.min(1000, users - user) }, (_, index) => user + index)
    yield block.map((number) => `customer-${String(number).padStart(7, '0')}\n`).join('')
  }
}

async function registerByHand(client: pg.Client, ids: string): Promise<number> {
  await settle(client)
  const started = performance.now()
  await client.query('create unlogged table staging (user_id text)')
  await copyLines(client, createReadStream(ids, { highWaterMark: 2 ** 18 }), 'staging')
  await client.query('insert into yardstick (app_id, user_id) select 1, user_id from staging on conflict do nothing')
  await client.query('drop table staging')
  return (performance.now() - started) / 1000
}

/** Measures the whole command, including its start. */
async function registerBySluice(stack: RunningStack, client: pg.Client, ids: string, users: number): Promise<number> {
  const { appId } = await openApp(stack)
  await settle(client)
  const started = performance.now()
  const { json } = await stack.pipeToSluice('', 'users', 'register', '--app', String(appId), '--file', ids)
  const seconds = (performance.now() - started) / 1000
  assert.deepEqual(json, { registered: users, already_registered: 0 })
  return seconds
}

/** Prepares each run: empties both tables, and leaves Postgres nothing to write. */
async function settle(client: pg.Client): Promise<void> {
  await client.query('truncate users, yardstick')
  await client.query('checkpoint')
}
