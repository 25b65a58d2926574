import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { settingsFor, startPostgres, thisMachine } from '@sluice/local-stack'
import pg from 'pg'
import { signal } from '../../../stack/processes.ts'
import { cpuOfTree } from './cpu.ts'

/** The Postgres of a benchmark; every contender has a separate database on it. */
export interface BenchPostgres {
  log: string
  urlOf(database: string): string
  /** Runs a statement in a database. */
  run(database: string, statement: string): Promise<pg.QueryResult>
  /** Replaces a database by a copy of another one. */
  copyDatabase(template: string, database: string): Promise<void>
  /** Prepares a database for a measurement: statistics, no dead rows, nothing left to write. */
  settle(database: string): Promise<void>
  /** Returns the CPU seconds of the server and all its processes so far. */
  cpu(): Promise<number>
  stop(): Promise<void>
}

/**
 * The settings that an expert would choose for a bulk load on a machine like this. Autovacuum is off for all
 * contenders, because it would disturb some contenders by chance. The benchmark itself vacuums between the phases.
 */
const expertSettings: Readonly<Record<string, string>> = {
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  checkpoint_timeout: '30min',
  autovacuum: 'off',
}

/** Returns the settings that `npm start` gives its Postgres on this machine, without autovacuum. */
export async function startSettings(folder: string): Promise<Record<string, string>> {
  return { ...settingsFor(await thisMachine(folder)), autovacuum: 'off' }
}

/** Starts the Postgres of a benchmark in a folder. The settings are an expert's unless others are given. */
export async function startBenchPostgres(folder: string, settings = expertSettings): Promise<BenchPostgres> {
  const dataDirectory = join(folder, 'postgres')
  const server = await startPostgres({ dataDirectory, port: 0, settings })
  const postmaster = Number.parseInt(await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10)
  // If a signal ends this process, its scratch folder is removed at exit. Postgres notices the end of this process, and
  // would write to the folder while it shuts down. So Postgres is killed first.
  const kill = () => signal(postmaster, 'SIGKILL')
  process.prependOnceListener('exit', kill)
  const urlOf = (database: string) => {
    const url = new URL(server.url)
    url.pathname = `/${database}`
    return url.href
  }
  const run = async (database: string, statement: string) => {
    const client = await connectTo(urlOf(database))
    try {
      return await client.query(statement)
    } finally {
      await client.end()
    }
  }
  return {
    log: `${dataDirectory}.log`,
    urlOf,
    run,
    async copyDatabase(template, database) {
      await run('postgres', `drop database if exists ${database} with (force)`)
      await run('postgres', `create database ${database} template ${template} strategy file_copy`)
    },
    async settle(database) {
      await run(database, 'vacuum analyze')
      await run(database, 'checkpoint')
    },
    cpu: () => cpuOfTree(postmaster),
    async stop() {
      process.off('exit', kill)
      await server.stop()
    },
  }
}

/** Connects to a database so that times without an offset are UTC, as in Sluice's own connections. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC' })
  await client.connect()
  return client
}
