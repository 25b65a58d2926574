import type { MailOverview } from '@sluice/mail'
import type { AliveWorker, HistoryPeriod, HistorySlot, ImportOverview } from '@sluice/operations'

export interface Overview {
  imports: ImportOverview
  workers: readonly AliveWorker[]
  mails: MailOverview
  /** Rows read by all imports in each of the last minutes, oldest first. */
  rows: readonly { minute: Date; rows: number }[]
  /** What imports did in each slot of the chosen period, oldest first. */
  history: readonly HistorySlot[]
  period: HistoryPeriod
  /** When maintenance ran last; undefined if it never did. */
  maintenanceAt: Date | undefined
  now: Date
}
