import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createApp } from '@sluice/accounts'
import { connect, migrate } from '@sluice/database'
import { registerUsers } from '@sluice/profiles'
import { migrateQueue } from '@sluice/queue'
import { from } from 'pg-copy-streams'
import { openScratch } from '../../../environment/scratch.ts'
import { type MadeFile, makeFile, registeredUsers, type Shape } from './file.ts'
import { type BenchPostgres, connectTo, startBenchPostgres, startSettings } from './postgres.ts'

/** Databases with all users registered and no profiles: the start of every first import. */
export const templates = { yardsticks: 'bench_yardsticks', sluice: 'bench_sluice_template' } as const

/** The environment that all contenders share. Its disposal ends and removes everything. */
export interface BenchEnvironment extends AsyncDisposable {
  postgres: BenchPostgres
  /** Folder of Sluice's storage. */
  home: string
  /** Returns the file of a shape, which is made at the first request. */
  file(shape: Shape): Promise<MadeFile>
}

/**
 * Starts Postgres in a scratch folder and registers the users of files of `rows` rows. `asNpmStart` gives Postgres the
 * settings of `npm start`.
 */
export async function openBenchEnvironment(rows: number, asNpmStart = false): Promise<BenchEnvironment> {
  await using unfinished = new AsyncDisposableStack()
  const { path: folder } = unfinished.use(await openScratch('sluice-bench-'))
  const postgres = await startBenchPostgres(folder, asNpmStart ? await startSettings(folder) : undefined)
  unfinished.defer(() => postgres.stop())
  await makeYardsticksTemplate(postgres, rows)
  await makeSluiceTemplate(postgres, rows)
  const parts = unfinished.move()
  const files = new Map<string, Promise<MadeFile>>()
  return {
    postgres,
    home: join(folder, 'stack'),
    file(shape) {
      const made = files.get(shape.name) ?? makeFile(folder, shape)
      files.set(shape.name, made)
      return made
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

const idsAtATime = 20_000

async function makeYardsticksTemplate(postgres: BenchPostgres, rows: number): Promise<void> {
  await postgres.run('postgres', `create database ${templates.yardsticks}`)
  const client = await connectTo(postgres.urlOf(templates.yardsticks))
  await client.query(
    `create table users (
      app_id integer, user_id text collate "C", registered_at timestamptz not null default now(), primary key (app_id, user_id)
    );
    create table profiles (
      app_id integer, user_id text collate "C", attributes jsonb not null, updated_at timestamptz not null,
      primary key (app_id, user_id)
    );
    create temporary table ids (user_id text)`,
  )
  const lines = Readable.from(blocksOf(registeredUsers(rows))).map((ids: string[]) => `${ids.join('\n')}\n`)
  await pipeline(lines, client.query(from('copy ids from stdin')))
  await client.query('insert into users (app_id, user_id) select 1, user_id from ids')
  await client.end()
  await postgres.settle(templates.yardsticks)
}

async function makeSluiceTemplate(postgres: BenchPostgres, rows: number): Promise<void> {
  await postgres.run('postgres', `create database ${templates.sluice}`)
  const databaseUrl = postgres.urlOf(templates.sluice)
  await migrate(databaseUrl)
  await migrateQueue({ databaseUrl })
  const { db, close } = connect(databaseUrl)
  const { appId } = await createApp(db, { name: 'Benchmark', email: 'bench@example.com' })
  for (const ids of blocksOf(registeredUsers(rows))) await registerUsers(db, appId, ids)
  await close()
  await postgres.settle(templates.sluice)
}

function* blocksOf(ids: Iterable<string>): Generator<string[]> {
  let block: string[] = []
  for (const id of ids) {
    block.push(id)
    if (block.length < idsAtATime) continue
    yield block
    block = []
  }
  if (block.length > 0) yield block
}
