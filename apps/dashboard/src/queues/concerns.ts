import { counted, duration } from '../layout/format.ts'
import type { Overview } from './overview.ts'

/** A mail that has waited longer indicates an outage of the mail server. */
const lateMailMs = 10 * 60_000

/**
 * An import that has waited longer while no import runs is a problem. Waiting for a running import of the app is
 * normal.
 */
const lateImportMs = 60_000

/**
 * A problem that operators should know about. Grave problems keep work from being done; an app may have caused the
 * others.
 */
interface Concern {
  text: string
  isGrave: boolean
}

/** Returns the problems that operators should know about, the grave problems first. */
export function concerns({ imports, workers, mails, now }: Overview): Concern[] {
  const alive = workers.filter(({ isLost }) => !isLost)
  const lost = workers.length - alive.length
  const { oldestWaiting, active } = imports
  const importWaitMs = oldestWaiting === undefined ? 0 : now.getTime() - oldestWaiting.since.getTime()
  const mailWaitMs = mails.waitingSince === undefined ? 0 : now.getTime() - mails.waitingSince.getTime()
  const failed = imports.ended.failed ?? 0
  const grave = [
    alive.length === 0 && 'No worker is alive: nothing is imported and no mail is sent.',
    lost > 0 && `${counted(lost, 'worker')} lost within the last hour.`,
    (active.processing ?? 0) === 0 &&
      importWaitMs > lateImportMs &&
      `No import is running, although one has been waiting for ${duration(importWaitMs)}.`,
    mailWaitMs > lateMailMs &&
      `${counted(mails.waiting, 'mail')} cannot be sent, the oldest for ${duration(mailWaitMs)}.`,
  ]
  const mild = [
    imports.allPausedSince !== undefined &&
      `The imports of all apps have been paused for ${duration(now.getTime() - imports.allPausedSince.getTime())}.`,
    imports.pausedApps.length > 0 && `The imports of ${counted(imports.pausedApps.length, 'app')} are paused.`,
    failed > 0 && `${counted(failed, 'import')} failed within 24 hours.`,
    mails.failed > 0 && `${counted(mails.failed, 'mail')} refused permanently within 24 hours.`,
  ]
  const list = (texts: readonly (string | false)[], isGrave: boolean) =>
    texts.filter((text) => text !== false).map((text) => ({ text, isGrave }))
  return [...list(grave, true), ...list(mild, false)]
}
