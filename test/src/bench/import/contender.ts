import type { MadeFile } from './file.ts'
import type { BenchPostgres } from './postgres.ts'
import type { LongestTransactions } from './transaction-watch.ts'

/** A route by which a file gets into a database. */
export interface Contender {
  name: 'COPY' | 'expert' | 'naive' | 'Sluice'
  /** Its own, and the one that it begins as a copy of. */
  database: string
  template: string
  /** Where the profiles are afterwards; undefined for one that makes none. */
  profiles: { table: string; tables: readonly string[] } | undefined
  /** Makes ready for importing a file; what this takes is not counted. */
  prepare(file: MadeFile): Promise<PreparedImport>
}

/** An import that can begin at once. */
interface PreparedImport {
  /** Imports the file: what this takes is what counts. */
  run(): Promise<ImportDetails | undefined>
  /** CPU seconds of the process that imports, so far. */
  cpu(): Promise<number>
  close(): Promise<void>
}

/** What is to know of an import by Sluice beyond its time. */
export interface ImportDetails {
  /** From the job's being given to the claim, and to the first committed batch that was seen, ms. */
  queueWait: number
  firstCommit: number
  longestTransactions: LongestTransactions
  /** The most resident memory of the worker, bytes. */
  peakMemory: number
}

/** What an import took. CPU is that of the importing Node process and of all of Postgres. */
export interface Measured {
  seconds: number
  nodeCpu: number
  postgresCpu: number
  details: ImportDetails | undefined
}

/** Has a contender import a file into its database as it is now. */
export async function measure(postgres: BenchPostgres, contender: Contender, file: MadeFile): Promise<Measured> {
  const prepared = await contender.prepare(file)
  try {
    await postgres.settle(contender.database)
    const cpu = async () => ({ node: await prepared.cpu(), postgres: await postgres.cpu() })
    const before = await cpu()
    const started = performance.now()
    const details = await prepared.run()
    const seconds = (performance.now() - started) / 1000
    const after = await cpu()
    return { seconds, nodeCpu: after.node - before.node, postgresCpu: after.postgres - before.postgres, details }
  } finally {
    await prepared.close()
  }
}

/** CPU seconds of this process, which is the importing one of every contender but Sluice. */
export async function ownCpu(): Promise<number> {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
