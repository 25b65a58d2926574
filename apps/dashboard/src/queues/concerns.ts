import { counted, duration } from '../layout/format.ts'
import type { Overview } from './overview.ts'

/** A mail that has waited longer indicates an outage of the mail server. */
const lateMailMs = 10 * 60_000

/**
 * An import that has waited longer while no import runs is a problem. Waiting for a running import of the app is
 * normal.
 */
const lateImportMs = 60_000

/** An import that has been held for longer has probably been forgotten. */
const longHeldMs = 24 * 3_600_000

/**
 * Maintenance records the history once a minute. If it has not done so for longer than this, it hangs or is not
 * scheduled.
 */
const lateMaintenanceMs = 5 * 60_000

/** A problem that operators should know about. */
export interface Concern {
  text: string
  /** A grave problem keeps work from being done, and a healed one is over. An app may have caused any other problem. */
  grade: 'grave' | 'mild' | 'healed'
  /** When the problem began; undefined if the time is unknown, or if the problem is a sum over time. */
  since: Date | undefined
  /** What to do first. */
  advice: string
  /** The runbook's entry with further steps; undefined if the advice is sufficient. */
  runbook: string | undefined
}

/** Returns the problems that operators should know about, the grave problems first. */
export function concerns(overview: Overview): Concern[] {
  return [...graveConcerns(overview), ...lossConcern(overview), ...mildConcerns(overview)]
}

function graveConcerns({ imports, workers, mails, maintenanceAt, now }: Overview): Concern[] {
  const alive = workers.filter(({ isLost }) => !isLost)
  const lostAt = workers.filter(({ isLost }) => isLost).map(({ seenAt }) => seenAt.getTime())
  const { oldestWaiting, active } = imports
  const msSince = (time: Date | undefined) => (time === undefined ? 0 : now.getTime() - time.getTime())
  return [
    alive.length === 0 &&
      concern('No worker is alive: nothing is imported and no mail is sent.', {
        since: lostAt.length === 0 ? undefined : new Date(Math.max(...lostAt)),
        advice:
          'Start a worker. If it does not stay, the end of its log says why. Requests and uploads are still accepted.',
        runbook: 'SluiceNoWorkers',
      }),
    alive.length > 0 &&
      msSince(maintenanceAt) > lateMaintenanceMs &&
      concern(`Maintenance has not run for ${duration(msSince(maintenanceAt))}.`, {
        since: maintenanceAt,
        advice:
          'Check that the queue maintenance is not paused, that a worker hosts it, and that the store of the queues answers.',
        runbook: 'SluiceMaintenanceLate',
      }),
    (active.processing ?? 0) === 0 &&
      msSince(oldestWaiting?.since) > lateImportMs &&
      concern(`No import is running, although one has been waiting for ${duration(msSince(oldestWaiting?.since))}.`, {
        since: oldestWaiting?.since,
        advice: 'Check in this order: storage, Redis, locks in Postgres.',
        runbook: 'SluiceImportsStuck',
      }),
    msSince(mails.waitingSince) > lateMailMs &&
      concern(
        `${counted(mails.waiting, 'mail')} cannot be sent, the oldest for ${duration(msSince(mails.waitingSince))}.`,
        {
          since: mails.waitingSince,
          advice: 'Check the mail server. Mails are sent by themselves when it answers again, for up to five days.',
          runbook: 'SluiceMailsLate',
        },
      ),
  ]
    .filter((found) => found !== false)
    .map((found) => ({ ...found, grade: 'grave' }))
}

/** Returns the loss of workers, if there was one. It is healed if a worker has started after each loss. */
function lossConcern({ workers }: Overview): Concern[] {
  const lost = workers.filter(({ isLost }) => isLost)
  if (lost.length === 0) return []
  const latestFirst = (times: Date[]) => times.map(Number).toSorted((a, b) => b - a)
  const starts = latestFirst(workers.filter(({ isLost }) => !isLost).map(({ startedAt }) => startedAt))
  const losses = latestFirst(lost.map(({ seenAt }) => seenAt))
  const isHealed = losses.every((lostAt, index) => (starts[index] ?? 0) > lostAt)
  const advice = isHealed
    ? 'The same number of workers has started since, and imports have continued. If it happens again, read the end of the log of a lost worker.'
    : 'Imports continue on other workers. Check that the supervisor starts each lost worker again, and read the end of its log.'
  const since = new Date(losses.at(-1) ?? 0)
  const found = concern(`${counted(lost.length, 'worker')} lost within the last hour.`, {
    since,
    advice,
    runbook: 'SluiceProcessDown',
  })
  return [{ ...found, grade: isHealed ? 'healed' : 'grave' }]
}

function mildConcerns({ imports, mails, now }: Overview): Concern[] {
  const { allPausedSince, pausedApps, oldestHeld } = imports
  const heldMs = oldestHeld === undefined ? 0 : now.getTime() - oldestHeld.since.getTime()
  const failed = imports.ended.failed ?? 0
  return [
    allPausedSince !== undefined &&
      concern(
        `The imports of all apps have been paused for ${duration(Math.max(1000, now.getTime() - allPausedSince.getTime()))}.`,
        {
          since: allPausedSince,
          advice: 'No import starts until somebody resumes them with the button above.',
          runbook: 'SluiceImportsPaused',
        },
      ),
    pausedApps.length > 0 &&
      concern(`The imports of ${counted(pausedApps.length, 'app')} are paused.`, {
        since: new Date(Math.min(...pausedApps.map(({ since }) => since.getTime()))),
        advice: 'The list above leads to each app, where they can be resumed.',
      }),
    heldMs > longHeldMs &&
      concern(
        `${counted(imports.active.held ?? 0, 'import is', 'imports are')} held, the oldest for ${duration(heldMs)}.`,
        {
          since: oldestHeld?.since,
          advice: 'Ask the members of its app to approve or to cancel it. Later imports of the app wait for it.',
          runbook: 'SluiceImportsHeld',
        },
      ),
    failed > 0 &&
      concern(`${counted(failed, 'import')} failed within 24 hours.`, {
        advice:
          'The reasons are in the table below. A fault of the file is for its sender. After an outage, retry the import on its page, or several at once on the page All imports.',
      }),
    mails.failed > 0 &&
      concern(`${counted(mails.failed, 'mail')} refused permanently within 24 hours.`, {
        advice: 'Usually an address no longer exists. The log of the workers has the answers of the mail server.',
      }),
  ]
    .filter((found) => found !== false)
    .map((found) => ({ ...found, grade: 'mild' }))
}

function concern(
  text: string,
  { since, advice, runbook }: { since?: Date | undefined; advice: string; runbook?: string },
): Omit<Concern, 'grade'> {
  return { text, since, advice, runbook }
}
