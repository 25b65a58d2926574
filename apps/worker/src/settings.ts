import { sharedStoreSettings } from '@sluice/config'
import { deletionSettings } from '@sluice/deletions'
import { exportSettings } from '@sluice/exports'
import { importSettings } from '@sluice/imports'
import { mailerSettings } from '@sluice/mail'
import { storageSettings } from '@sluice/storage'

/** The settings of every worker, whatever queues it hosts. */
export const workerSettings = [
  ...deletionSettings,
  ...exportSettings,
  ...importSettings,
  ...mailerSettings,
  ...storageSettings,
  ...sharedStoreSettings,
  'DATABASE_POOL',
  'HISTORY_RETENTION_DAYS',
  'IMPORT_CONCURRENCY',
  'S3_GATEWAY_SEARCH_INTERVAL',
] as const
