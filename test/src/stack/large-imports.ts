import { createHash } from 'node:crypto'
import { sql } from '@sluice/database'
import { expect } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, download, ended, openApp, statusOf, upload } from './client.ts'
import { type LargeFileCounts, largeFileInMemory, userIds } from './large-file.ts'
import { signal } from './processes.ts'
import type { RunningStack } from './running-stack.ts'
import { lastClaim } from './worker-log.ts'

/** Timeout for a busy machine, ms. */
export const timeoutMs = 120_000

/** Imports of one large file, each by an app of its own. */
export interface LargeImports {
  counts: LargeFileCounts
  start(): Promise<LargeImport>
}

interface LargeImport {
  importId: string
  /** Waits until a share of the rows, but not all of them, is committed. */
  untilProgress(share: number): Promise<void>
  /** Waits for the end, and returns everything that the import leaves. */
  outcome(): Promise<Outcome>
  /** Ends the worker that runs the import with SIGKILL, and waits for the next claim. */
  killWorker(): Promise<void>
}

/** Generates the file. Its imports run on `stack`. */
export function largeImports(stack: RunningStack, { rows, users }: { rows: number; users: number }): LargeImports {
  const { file, counts } = largeFileInMemory({ rows, users })
  return {
    counts,
    async start() {
      const app = await openApp(stack, [...userIds(users)])
      const importId = await upload(stack.api, app.token, file)
      return {
        importId,
        async untilProgress(share) {
          const committedRows = async () => {
            const { rows_total: total } = await statusOf(stack.api, app.token, importId)
            return total >= share * rows && total
          }
          expect(await until(`${share} of the rows`, committedRows, timeoutMs)).toBeLessThan(rows)
        },
        outcome: () => outcomeOf(stack, app, importId),
        async killWorker() {
          const claim = (await lastClaim(stack.home, importId)) ?? expect.fail('nobody has claimed the import')
          signal(claim.pid, 'SIGKILL')
          await until('another claim', async () => {
            const next = await lastClaim(stack.home, importId)
            return next !== undefined && next.attempt > claim.attempt
          })
        },
      }
    },
  }
}

/** Everything that an import leaves, except values that differ between runs: IDs, times and links. */
export interface Outcome {
  state: string
  rows_total: number
  rows_applied: number
  rows_failed: number
  types: Record<string, string>
  keys: string
  users: number
  /** Digest of all users with their values. */
  profiles: string
  errorFile: string
  mails: number
}

async function outcomeOf(stack: RunningStack, app: App, importId: string): Promise<Outcome> {
  const view = await ended(stack.api, app.token, importId, timeoutMs)
  const errorFile = await download(view.error_file_url ?? '')
  const { rows: found } = await sql<{ users: number; profiles: string }>`
    select (select count(*) from users where app_id = ${app.appId}) as users,
      md5(string_agg(user_id || attributes::text, chr(10) order by user_id)) as profiles
    from profiles where app_id = ${app.appId}
  `.execute(stack.db)
  const keys = await stack.db.selectFrom('profile_keys').selectAll().where('app_id', '=', app.appId).execute()
  await until('the mail', async () => (await stack.mailsTo(app.email)).length > 0)
  const { state, rows_total, rows_applied, rows_failed, types } = view
  return {
    ...{ state, rows_total, rows_applied, rows_failed, types },
    keys: keys
      .map(({ key, type }) => `${key}: ${type}`)
      .toSorted()
      .join(', '),
    users: found[0]?.users ?? 0,
    profiles: found[0]?.profiles ?? '',
    errorFile: createHash('md5').update(errorFile).digest('hex'),
    mails: await mailsSent(stack, app),
  }
}

/** Waits until no mail of the app is waiting. Returns the number of mails in the inbox. */
async function mailsSent(stack: RunningStack, { appId, email }: App): Promise<number> {
  await until('the end of sending', async () => {
    const mails = await stack.db.selectFrom('mails').select('state').where('app_id', '=', appId).execute()
    return mails.every(({ state }) => state === 'sent')
  })
  return (await stack.mailsTo(email)).length
}
