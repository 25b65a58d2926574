import { isDeepStrictEqual } from 'node:util'
import type { ImportView } from '@sluice/contract'
import { sql } from '@sluice/database'
import { showImport } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import { storedProfiles } from '../../environment/database.ts'
import { findOrphans } from '../../environment/orphans.ts'
import { until } from '../../environment/wait.ts'
import { replay } from '../../labs/model/replay.ts'
import { type ClientApp, retry } from './client.ts'
import type { Deployment } from './deployment.ts'
import { type ExpectedImport, expectApp, type RunFile } from './expectation.ts'
import { appliedOrder, recordedHistory } from './watcher.ts'

/** The parts of a deployment that are compared with the model. */
export type Compared = Pick<Deployment, 'db' | 'api' | 'mail' | 'storageSettings' | 'orderWaitMs'>

export interface Comparison {
  imports: number
  cancelled: number
  rows: number
  /** Number of duplicate mails. A mail is sent again if the mail server's answer is lost. */
  mailsRepeated: number
  /** Descriptions of all differences from the model and all broken rules. Must be empty. */
  violations: string[]
}

/**
 * Waits until all imports and mails have ended, then compares profiles, counts, error files and mails with the model.
 * Throws if the imports or the mails do not end within `timeoutMs`.
 */
export async function compareWithModel(
  deployment: Compared,
  apps: readonly ClientApp[],
  { timeoutMs = 60_000 } = {},
): Promise<Comparison> {
  await untilAllEnded(deployment, apps, timeoutMs)
  await untilMailsSettled(deployment, timeoutMs)
  const appIds = apps.map(({ appId }) => appId)
  const history = await recordedHistory(deployment.db, deployment.orderWaitMs, appIds)
  const order = appliedOrder(history)
  const comparison: Comparison = {
    imports: 0,
    cancelled: 0,
    rows: 0,
    mailsRepeated: 0,
    violations: await replay(history),
  }
  for (const app of apps) await compareApp(deployment, app, order.get(app.appId) ?? [], comparison)
  for (const key of await retry('the listing of storage', () =>
    findOrphans(deployment.db, deployment.storageSettings),
  )) {
    comparison.violations.push(`${key} in storage belongs to nobody`)
  }
  return comparison
}

async function compareApp(
  deployment: Compared,
  app: ClientApp,
  order: readonly string[],
  comparison: Comparison,
): Promise<void> {
  const compare = (what: string, is: unknown, expected: unknown) => {
    if (isDeepStrictEqual(is, expected)) return
    comparison.violations.push(`app ${app.appId}, ${what}: ${abridged(is)} instead of ${abridged(expected)}`)
  }
  const views = new Map<string, ImportView>()
  for (const importId of app.files.keys()) {
    const view = await showImport(deployment.db, deployment.api, { appId: app.appId, importId })
    if (view !== undefined) views.set(importId, view)
  }
  const isCancelled = (importId: string) => views.get(importId)?.state === 'cancelled'
  // An import that was cancelled while it waited has never run, so its position in the order does not matter.
  const neverRan = [...app.files.keys()].filter((importId) => isCancelled(importId) && !order.includes(importId))
  const ended = [...order, ...neverRan]
  compare('imports that ran', ended.toSorted(), [...app.files.keys()].toSorted())
  const runs = ended.flatMap((importId): RunFile[] => {
    const file = app.files.get(importId)
    const rows = views.get(importId)?.rows_total ?? 0
    if (file === undefined) return []
    if (file.isUndo) return [{ file, lines: rows }]
    return [isCancelled(importId) ? { file, cancelledAfter: rows } : { file }]
  })
  const expected = expectApp(runs, app.firstProfile)
  for (const [index, importId] of ended.entries()) {
    const end = expected.imports[index]
    const view = views.get(importId)
    if (end === undefined || view === undefined) continue
    comparison.imports++
    if (view.state === 'cancelled') comparison.cancelled++
    comparison.rows += view.rows_total
    compare(`import ${importId}`, await outcomeOf(view), end)
    await compareMails(deployment, app, view, compare, comparison)
  }
  const profiles = Object.entries(await storedProfiles(deployment, app.appId))
  for (const [user, attributes] of profiles) {
    compare(`profile of ${user}`, sorted(attributes), sorted(expected.profiles[user]))
  }
  compare('users', profiles.length, Object.keys(expected.profiles).length)
  const keys = await registeredKeys(deployment.db, app.appId)
  compare('keys', sorted(Object.fromEntries([...keys].map(([key, { type }]) => [key, type]))), sorted(expected.keys))
  const { rows } = await sql<{ count: number }>`
    select count(*) from import_chunks where app_id = ${app.appId}
  `.execute(deployment.db)
  compare('error chunks left', rows[0]?.count, 0)
}

async function outcomeOf(view: ImportView): Promise<ExpectedImport> {
  const { state, error, rows_total, rows_applied, rows_failed, types, error_file_url: link } = view
  const errorFile = link === null ? undefined : await retry('the download', () => download(link))
  return { state: state as ExpectedImport['state'], error, rows_total, rows_applied, rows_failed, types, errorFile }
}

async function download(link: string): Promise<Buffer> {
  const response = await fetch(link, { signal: AbortSignal.timeout(5_000) })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return Buffer.from(await response.arrayBuffer())
}

/**
 * Compares the mails of an import: one to each member, with the counts. The mail server accepts only the mail to the
 * first member.
 */
async function compareMails(
  { db, mail }: Compared,
  app: ClientApp,
  view: ImportView,
  compare: (what: string, is: unknown, expected: unknown) => void,
  comparison: Comparison,
): Promise<void> {
  const mails = await db
    .selectFrom('mails')
    .select(['mail_id', 'recipient', 'state', 'text'])
    .where('app_id', '=', app.appId)
    .where('event', '=', `import:${view.import_id}`)
    .orderBy('recipient')
    .execute()
  compare(
    `mails of ${view.import_id}`,
    mails.map(({ recipient, state }) => [recipient, state]).toSorted(),
    [
      [app.emails[0], 'sent'],
      [app.emails[1], 'failed'],
    ].toSorted(),
  )
  for (const { mail_id: mailId, state, text } of mails) {
    const rows = view.dry_run
      ? `Rows without errors: ${(view.rows_total - view.rows_failed).toLocaleString('en-US')}`
      : `Rows applied: ${view.rows_applied.toLocaleString('en-US')}`
    compare(`counts in mail ${mailId}`, text.includes(rows), true)
    compare(`link in mail ${mailId}`, text.includes(view.error_file_url ?? 'Import: '), true)
    const arrivals = mail.received.filter(({ messageId }) => messageId.startsWith(`<${mailId}@`)).length
    compare(`arrival of mail ${mailId}`, arrivals > 0, state === 'sent')
    comparison.mailsRepeated += Math.max(0, arrivals - 1)
  }
}

/**
 * Waits for the end of all imports that the apps have uploaded to. If the answer to a first request was lost, nobody
 * uploads to its import, and the import is ignored here.
 */
export async function untilAllEnded({ db }: Compared, apps: readonly ClientApp[], timeoutMs: number): Promise<void> {
  const wanted = apps.flatMap(({ files }) => [...files.keys()])
  const open = () =>
    retry('the query for open imports', async () => {
      const rows = await db
        .selectFrom('imports')
        .select(['import_id', 'state', 'rows_total', 'tries', 'attempt', 'retry_at', 'lease_until'])
        .where((where) =>
          where.or([where('state', 'not in', ['completed', 'failed', 'cancelled']), where('report_due', '=', true)]),
        )
        .execute()
      return rows.filter((row) => wanted.includes(row.import_id))
    })
  await until('the end of all imports', async () => (await open()).length === 0, timeoutMs).catch(async (error) => {
    throw new Error(`imports that do not end: ${JSON.stringify(await open())}`, { cause: error })
  })
}

/**
 * Waits until no mail is waiting. If an attempt has failed, makes the mail due at once: the pause of minutes is covered
 * by other tests. Leaves a mail that a worker has claimed (for 120 s) to this worker for at least 20 s.
 */
async function untilMailsSettled({ db }: Compared, timeoutMs: number): Promise<void> {
  const waiting = async () => {
    const rows = await db
      .updateTable('mails')
      .set({ next_attempt_at: sql<Date>`least(next_attempt_at, now())` })
      .where('state', '=', 'waiting')
      .where('next_attempt_at', '>', sql<Date>`now() + interval '3 s'`)
      .where('next_attempt_at', '<', sql<Date>`now() + interval '100 s'`)
      .returning('mail_id')
      .execute()
    const left = await db.selectFrom('mails').select('mail_id').where('state', '=', 'waiting').execute()
    return rows.length + left.length
  }
  await until('the end of all mails', async () => (await waiting()) === 0, timeoutMs)
}

function sorted(object: object = {}): object {
  return Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function abridged(value: unknown): string {
  const text = JSON.stringify(value, (_, inner) =>
    inner?.type === 'Buffer' ? Buffer.from(inner.data).toString('latin1') : inner,
  )
  return text === undefined || text.length < 400 ? String(text) : `${text.slice(0, 400)}…`
}
