import type { Settings } from '@sluice/config'
import type { FilesContext } from '@sluice/imports'

/** The setting that accepting deletion requests takes. */
export const deletionRequestSettings = ['SERVICE_TIMEZONE'] as const

/** The settings that running deletions takes. */
export const deletionSettings = ['DELETION_BATCH_USERS', 'SERVICE_TIMEZONE'] as const

/** What running deletions needs. */
export interface DeletionContext extends FilesContext {
  settings: Settings<(typeof deletionSettings)[number]>
}
