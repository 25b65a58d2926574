import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from '@sluice/local-stack'
import pg from 'pg'
import { signal } from '../../stack/processes.ts'
import { cpuOfTree } from './cpu.ts'

/** The one Postgres of a benchmark; every contender has a database of its own on it. */
export interface BenchPostgres {
  /** The file of its own log. */
  log: string
  urlOf(database: string): string
  /** Runs a statement in a database. */
  run(database: string, statement: string): Promise<pg.QueryResult>
  /** Makes a database anew, as a copy of another one, with what is in it. */
  copyDatabase(template: string, database: string): Promise<void>
  /** What every contender finds before it begins: statistics, no dead rows, nothing left to write. */
  settle(database: string): Promise<void>
  /** CPU seconds of the server and all its processes so far. */
  cpu(): Promise<number>
  stop(): Promise<void>
}

/**
 * What an expert would set for a bulk load on such a machine. Autovacuum is off for everybody, so that it strikes none by
 * chance: the benchmark vacuums between the phases itself.
 */
const settings = { shared_buffers: '1GB', max_wal_size: '4GB', checkpoint_timeout: '30min', autovacuum: 'off' }

/** Starts the Postgres of a benchmark in a folder. */
export async function startBenchPostgres(folder: string): Promise<BenchPostgres> {
  const dataDirectory = join(folder, 'postgres')
  const server = await startPostgres({ dataDirectory, port: 0, settings })
  const postmaster = Number.parseInt(await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8'), 10)
  // Where this process ends by a signal, its scratch folder is removed: a server that shuts down would go on writing there.
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

/** A connection on which times without an offset are UTC, as in Sluice's own. */
export async function connectTo(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC' })
  await client.connect()
  return client
}
