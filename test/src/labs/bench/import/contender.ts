import type { MadeFile } from './file.ts'
import type { BenchPostgres } from './postgres.ts'
import type { LongestTransactions } from './transaction-watch.ts'

/** A way to import a file into a database. */
export interface Contender {
  name: 'COPY' | 'expert' | 'naive' | 'Sluice'
  /** The contender's database, and the template that it is copied from. */
  database: string
  template: string
  /** The tables of the profiles; undefined for a contender that writes none. */
  profiles: { table: string; tables: readonly string[] } | undefined
  /** Prepares an import of a file; not measured. */
  prepare(file: MadeFile): Promise<PreparedImport>
}

/** An import that can begin at once. */
interface PreparedImport {
  /** Imports the file; measured. */
  run(): Promise<ImportDetails | undefined>
  /** Returns the CPU seconds of the importing process so far. */
  cpu(): Promise<number>
  close(): Promise<void>
}

/** Further measurements of an import by Sluice. */
export interface ImportDetails {
  /** Times from the enqueuing of the job to the import's claim, and to the first observed committed batch, ms. */
  queueWait: number
  firstCommit: number
  longestTransactions: LongestTransactions
  /** The peak resident memory of the worker, bytes. */
  peakMemory: number
}

/** The measurements of an import. CPU seconds are those of the importing Node process, and of Postgres's processes. */
export interface Measured {
  seconds: number
  nodeCpu: number
  postgresCpu: number
  details: ImportDetails | undefined
}

/** Measures a contender's import of a file into its current database. */
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

/** Returns the CPU seconds of this process, which imports for every contender but Sluice. */
export async function ownCpu(): Promise<number> {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
