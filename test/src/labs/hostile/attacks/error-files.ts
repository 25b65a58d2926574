import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { registerKeys } from '@sluice/profiles'
import type { App } from '../../../stack/client.ts'
import type { RunningStack } from '../../../stack/running-stack.ts'
import { type Attack, type AttackContext, atMost, type Figures } from '../attack.ts'
import { bomb, pauseFor, secondsToEnd, unfinishedImports, uploadBomb } from '../attackers.ts'

const { ERROR_FILE_LIMIT: limit } = readSettings({}, ['ERROR_FILE_LIMIT'])
const mebibyte = 2 ** 20

/** Attacks with small files that have large error files. */
export const errorFileAttacks: Attack[] = [
  {
    title: '97 integer keys with names of 250 emoji, wrong in 5,400 rows',
    inSample: true,
    async attack(context) {
      const names = Array.from({ length: 97 }, (_, index) => `${String(index).padStart(5, '0')}${'😀'.repeat(250)}`)
      const attacker = await context.openAttacker()
      const keys = new Map(names.map((name) => [name, 'int' as const]))
      await context.stack.db.transaction().execute((tx) => registerKeys(tx, attacker.appId, keys, 500))
      const file = await bomb(`user_id,${names.join(',')}\n`, `u1${',x'.repeat(97)}\n`, context.isShort ? 1_000 : 5_400)
      return await runWatched(context, attacker, file)
    },
    expect: (figures, { isShort }) => [
      // In the sample, workers may still be busy with an earlier attack.
      ...(isShort ? [] : atMost(figures, 'unfinished', 0)),
      // The rows themselves have 1 MB.
      ...atMost(figures, 'kept at most, MiB', 8),
      ...atMost(figures, 'database grew, MiB', 64),
    ],
  },
  {
    title: '4 GiB uncompressed, all of it invalid',
    longestMs: 600_000,
    async attack(context) {
      const attacker = await context.openAttacker()
      const row = `nobody,${'x'.repeat(1_000_000)}\n`
      return await runWatched(
        context,
        attacker,
        await bomb('user_id,a\n', row, Math.floor((2 ** 32 - 100) / row.length)),
      )
    },
    expect: (figures) => [
      ...atMost(figures, 'unfinished', 0),
      ...atMost(figures, 'kept at most, MiB', limit / mebibyte),
      ...atMost(figures, 'database grew, MiB', limit / mebibyte),
    ],
  },
]

/** Runs an import to its end, and measures the size of the database meanwhile. */
async function runWatched(context: AttackContext, { appId, token }: App, file: Buffer): Promise<Figures> {
  const { stack } = context
  const before = await sizes(stack)
  let [kept, grown] = [0, 0]
  const ending = new AbortController()
  const watching = (async () => {
    while (!ending.signal.aborted) {
      const { database, chunks } = await sizes(stack)
      kept = Math.max(kept, chunks - before.chunks)
      grown = Math.max(grown, database - before.database)
      await pauseFor(ending.signal, 200)
    }
  })()
  const importId = await uploadBomb(context, token, file)
  const seconds = await secondsToEnd(context, token, importId)
  ending.abort()
  await watching
  const inMebibytes = (bytes: number) => Math.round(bytes / mebibyte)
  return {
    'bytes sent': file.length,
    'import, s': seconds,
    'kept at most, MiB': inMebibytes(kept),
    'database grew, MiB': inMebibytes(grown),
    unfinished: await unfinishedImports(stack, appId),
  }
}

/** Returns the size on disk of the database and of its error chunks, bytes. */
async function sizes({ db }: RunningStack): Promise<{ database: number; chunks: number }> {
  const { rows } = await sql<{ database: string; chunks: string }>`
    select pg_database_size(current_database())::text as database,
      pg_total_relation_size('import_chunks')::text as chunks
  `.execute(db)
  return { database: Number(rows[0]?.database), chunks: Number(rows[0]?.chunks) }
}
