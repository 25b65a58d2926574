import { withPausers } from '@sluice/audit-log'
import { count, fields, localTime } from '@sluice/client-cli/text'
import { importStates } from '@sluice/contract/answers'
import { mailOverview } from '@sluice/mail'
import { importOverview, listWorkers, type Waiting } from '@sluice/operations'
import type { Command } from 'commander'
import { print } from '../output.ts'
import { withDatabase } from '../stack.ts'

/** Completes `sluice queues`, which shows the figures of the page Queues. */
export function addQueuesCommand(queues: Command): void {
  queues.action(async () => {
    const found = await withDatabase(async (db) => {
      const [imports, workers, mails] = await Promise.all([importOverview(db), listWorkers(db), mailOverview(db)])
      const ofAll = imports.allPausedSince && { appId: undefined, appName: 'all apps', since: imports.allPausedSince }
      const pauses = await withPausers(db, [...(ofAll ? [ofAll] : []), ...imports.pausedApps])
      return { imports, pauses, mails, lost: workers.filter(({ isLost }) => isLost).length, workers: workers.length }
    })
    print(queues, documentOf(found), () => describe(found))
  })
}

interface Found {
  imports: Awaited<ReturnType<typeof importOverview>>
  /** The pause of all apps, if there is one, comes first. */
  pauses: readonly { appId: number | undefined; appName: string; since: Date; by: string | undefined }[]
  mails: Awaited<ReturnType<typeof mailOverview>>
  workers: number
  lost: number
}

function documentOf({ imports, pauses, mails, workers, lost }: Found) {
  const oldest = (one: Waiting | undefined) =>
    one === undefined ? null : { app_id: one.appId, import_id: one.importId, since: one.since.toISOString() }
  return {
    pauses: pauses.map(({ appId, since, by }) => ({
      app_id: appId ?? null,
      since: since.toISOString(),
      by: by ?? null,
    })),
    imports: imports.active,
    ended_within_24_hours: imports.ended,
    oldest_waiting: oldest(imports.oldestWaiting),
    oldest_held: oldest(imports.oldestHeld),
    workers: { alive: workers - lost, lost },
    mails: { waiting: mails.waiting, waiting_since: mails.waitingSince?.toISOString() ?? null, failed: mails.failed },
  }
}

function describe({ imports: { active, ended, ...imports }, pauses, mails, workers, lost }: Found): string {
  const since = (one: Waiting | undefined) =>
    one === undefined ? '' : `, the oldest since ${localTime(one.since)}: ${one.importId} of ${one.appName}`
  const paused = pauses.map(
    (each) => `${each.appName} since ${localTime(each.since)}${each.by ? ` by ${each.by}` : ''}`,
  )
  const endings = importStates.flatMap((state) => (ended[state] ? [`${count(ended[state])} ${state}`] : []))
  return fields({
    Paused: paused.join(', ') || 'no app',
    Queued: `${count(active.queued ?? 0)}${since(imports.oldestWaiting)}`,
    Processing: active.processing ?? 0,
    Held: `${count(active.held ?? 0)}${since(imports.oldestHeld)}`,
    'Awaiting upload': active.awaiting_upload ?? 0,
    'Ended within 24 hours': endings.join(', ') || 'none',
    Workers: `${count(workers - lost)} alive${lost > 0 ? `, ${count(lost)} lost within the last hour` : ''}`,
    'Mails waiting': mails.waiting,
  })
}
