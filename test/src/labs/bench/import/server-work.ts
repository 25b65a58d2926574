import type { BenchPostgres } from './postgres.ts'

/** What a server has done since its start. */
export interface ServerWork {
  /** Bytes of the log (WAL). */
  walBytes: number
  /** Pages that went to the log as a whole, because they changed for the first time since a checkpoint. */
  pageImages: number
  /** Pages that were not in the server's buffers. */
  pagesRead: number
  checkpoints: number
}

/** Returns what a server has done so far, in all its databases. */
export async function serverWork(postgres: BenchPostgres): Promise<ServerWork> {
  const { rows } = await postgres.run(
    'postgres',
    `select wal_bytes::float8 as "walBytes", wal_fpi::float8 as "pageImages",
      (select sum(blks_read)::float8 from pg_stat_database) as "pagesRead",
      (select (num_timed + num_requested)::float8 from pg_stat_checkpointer) as checkpoints
    from pg_stat_wal`,
  )
  return rows[0]
}

/** Returns the work between two observations. */
export function workBetween(before: ServerWork, after: ServerWork): ServerWork {
  return {
    walBytes: after.walBytes - before.walBytes,
    pageImages: after.pageImages - before.pageImages,
    pagesRead: after.pagesRead - before.pagesRead,
    checkpoints: after.checkpoints - before.checkpoints,
  }
}
