import { counted, duration } from '../layout/format.ts'
import type { Overview } from './overview.ts'

/** A mail that has not gone out for so long says that the mail server is away, ms. */
const lateMail = 10 * 60_000

/** An import may wait long behind another one of its app; where nothing runs at all, this is too long, ms. */
const lateImport = 60_000

/** What an operator should look at, in words. Grave is what keeps work from being done; the rest may be an app's own doing. */
interface Concern {
  text: string
  isGrave: boolean
}

/** Gives what an operator should look at, gravest first; nothing where all is well. */
export function concerns({ imports, workers, mails, now }: Overview): Concern[] {
  const alive = workers.filter(({ isLost }) => !isLost)
  const lost = workers.length - alive.length
  const { oldestWaiting, active } = imports
  const waited = oldestWaiting === undefined ? 0 : now.getTime() - oldestWaiting.since.getTime()
  const mailWaited = mails.waitingSince === undefined ? 0 : now.getTime() - mails.waitingSince.getTime()
  const failed = imports.ended.failed ?? 0
  const grave = [
    alive.length === 0 && 'No worker is alive: nothing is imported and no mail is sent.',
    lost > 0 && `${counted(lost, 'worker')} lost within the last hour.`,
    (active.processing ?? 0) === 0 &&
      waited > lateImport &&
      `Nothing runs, and an import has waited ${duration(waited)}.`,
    mailWaited > lateMail &&
      `${counted(mails.waiting, 'mail')} cannot be sent, the oldest for ${duration(mailWaited)}.`,
  ]
  const mild = [
    failed > 0 && `${counted(failed, 'import')} failed within 24 hours.`,
    mails.failed > 0 && `${counted(mails.failed, 'mail')} refused for good within 24 hours.`,
  ]
  const list = (texts: readonly (string | false)[], isGrave: boolean) =>
    texts.filter((text) => text !== false).map((text) => ({ text, isGrave }))
  return [...list(grave, true), ...list(mild, false)]
}
