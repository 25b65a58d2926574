import type { Database } from '@sluice/database'
import { deletionBacklog } from '@sluice/deletions'
import { importBacklog } from '@sluice/imports'
import { mailBacklog } from '@sluice/mail'
import type { Metrics } from '@sluice/service'
import { Gauge, Registry } from 'prom-client'

/** The tables are asked at most this often, however many look, ms. */
const longestAge = 5_000

/**
 * Shows what waits in the tables, for all apps. Every worker that hosts maintenance shows the same: take the largest of them,
 * not their sum. While Postgres is away nothing is shown, since old values would look like present ones.
 */
export function showBacklog({ others }: Metrics, db: Database): void {
  const registry = new Registry()
  const set = openGauges(registry)
  let asked: Promise<void> | undefined
  let askedAt = 0
  others.push(async () => {
    if (asked === undefined || performance.now() - askedAt > longestAge) {
      askedAt = performance.now()
      asked = set(db)
    }
    await asked
    return await registry.metrics()
  })
}

/** Gives how to set them all. */
function openGauges(registry: Registry): (db: Database) => Promise<void> {
  const gauge = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const imports = gauge('sluice_imports', 'Imports that have not ended, by state', 'state')
  const runnable = gauge(
    'sluice_runnable_imports',
    'Imports and dry runs that run, or could run now if a worker were free: at most one of each kind and app',
  )
  const oldest = gauge(
    'sluice_import_oldest_waiting_seconds',
    'Longest wait of an import, among apps with one, few (2 to 10) and many waiting imports',
    'app_class',
  )
  const mails = gauge('sluice_mails_waiting', 'Mails that are to be sent')
  const overdue = gauge('sluice_mail_oldest_due_seconds', 'How long the mail that is due the longest has been due')
  const deletions = gauge(
    'sluice_deletion_requests',
    'Deletion requests that are open, and those of them that are due',
    'state',
  )
  return async (db) => {
    const [backlog, mail, deletion] = await Promise.all([importBacklog(db), mailBacklog(db), deletionBacklog(db)])
    for (const [state, count] of Object.entries(backlog.states)) imports.set({ state }, count)
    for (const [app_class, seconds] of Object.entries(backlog.oldestWaiting)) oldest.set({ app_class }, seconds)
    runnable.set(backlog.runnable)
    mails.set(mail.waiting)
    overdue.set(mail.overdue)
    for (const [state, count] of Object.entries(deletion)) deletions.set({ state }, count)
  }
}
