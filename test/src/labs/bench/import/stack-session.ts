import { createReadStream } from 'node:fs'
import { readSettings } from '@sluice/config'
import { connect } from '@sluice/database'
import { importSettings, undoImport } from '@sluice/imports'
import { embeddedStorageAccess } from '@sluice/local-stack'
import { openQueues } from '@sluice/queue'
import { openStorage, type Storage } from '@sluice/storage'
import type pg from 'pg'
import { type RunningStack, startStack } from '../../../stack/running-stack.ts'
import type { MadeFile } from './file.ts'
import { type BenchPostgres, connectTo } from './postgres.ts'

/** An import as the benchmarks queue it. An undo is the undo of the database's last import. */
export const importKinds = ['import', 'import that keeps changes', 'dry run', 'undo'] as const

export type ImportKind = (typeof importKinds)[number]

/** Sluice's processes as `npm start` runs them, on a database of the benchmark's Postgres. */
export interface StackSession {
  stack: RunningStack
  client: pg.Client
  /** Returns the worker's process, once it is ready. */
  workerPid(): Promise<number | undefined>
  /** Stores a file, unless storage has it. */
  upload(file: MadeFile): Promise<void>
  storage: Storage
  /** Queues an import of a stored file for the database's only app, as if its job had been enqueued. */
  insertImport(file: MadeFile, kind?: ImportKind): Promise<{ appId: number; importId: string }>
  /** Queues an import of a stored file, and enqueues its job. */
  enqueue(file: MadeFile, kind?: ImportKind): Promise<string>
  /** Ends the processes. The files in storage stay. */
  close(): Promise<void>
}

/** Starts Sluice on a database. Its storage, a separate process, keeps files in `home`. */
export async function openStackSession(postgres: BenchPostgres, database: string, home: string): Promise<StackSession> {
  const databaseUrl = postgres.urlOf(database)
  const stack = await startStack({ home, env: { DATABASE_URL: databaseUrl } })
  const { storage: endpoint } = await stack.info()
  const storage = openStorage({ S3_ENDPOINT: endpoint, ...(await embeddedStorageAccess(home, {})) })
  const queues = openQueues({ databaseUrl }, (error) => console.error(error))
  const client = await connectTo(databaseUrl)
  const session: StackSession = {
    stack,
    client,
    storage,
    workerPid: async () => (await stack.info()).processes.worker?.[0],
    async upload(file) {
      if ((await storage.stat(file.name)) !== undefined) return
      await storage.writeStream(file.name, createReadStream(file.path), contentTypeOf(file))
    },
    async insertImport(file, kind = 'import') {
      if (kind === 'undo') return await queueUndo(client, databaseUrl)
      const stored = await storage.stat(file.name)
      // Marks the import as dispatched, so that maintenance enqueues no job for it.
      const { rows } = await client.query(
        `insert into imports
          (app_id, source, state, object_key, content_type, etag, stored_size, byte_size, queued_at, dispatched_at,
            dry_run, keep_changes)
        select app_id, 'v3', 'queued', $1, $2, $3, $4, $4, now(), now(), $5 = 'dry run', $5 like '% keeps changes' from apps
        returning app_id, import_id`,
        [file.name, contentTypeOf(file), stored?.etag, stored?.byteSize, kind],
      )
      return { appId: rows[0].app_id, importId: rows[0].import_id }
    },
    async enqueue(file, kind) {
      const { appId, importId } = await session.insertImport(file, kind)
      await queues.add('imports', [{ id: `${importId}-0`, payload: { appId, importId } }])
      return importId
    },
    async close() {
      await queues.close()
      storage.close()
      await client.end()
      await stack.terminate()
    },
  }
  return session
}

function contentTypeOf({ gzip }: MadeFile): 'text/csv' | 'application/gzip' {
  return gzip ? 'application/gzip' : 'text/csv'
}

async function queueUndo(client: pg.Client, databaseUrl: string): Promise<{ appId: number; importId: string }> {
  const { rows } = await client.query('select app_id, import_id from imports order by queued_at desc limit 1')
  const { app_id: appId, import_id: importId } = rows[0]
  const { db, close } = connect(databaseUrl)
  try {
    const settings = readSettings({ API_URL: 'http://api.test' }, importSettings)
    return { appId, importId: await undoImport({ db, settings }, { appId, importId }) }
  } finally {
    await close()
  }
}
