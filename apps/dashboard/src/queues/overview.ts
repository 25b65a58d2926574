import type { AliveWorker, ImportOverview, MailOverview } from '@sluice/operations'

/** The data of the overview. */
export interface Overview {
  imports: ImportOverview
  workers: readonly AliveWorker[]
  mails: MailOverview
  /** Rows read by all imports in each of the last minutes, oldest first. */
  rows: readonly { minute: Date; rows: number }[]
  now: Date
}
