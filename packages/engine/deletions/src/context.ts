import type { Settings } from '@sluice/config'
import type { FilesContext } from '@sluice/imports'

/** The settings that accepting deletion requests needs. */
export const deletionRequestSettings = ['SERVICE_TIMEZONE'] as const

/** The settings that running deletions needs. */
export const deletionSettings = ['DELETION_BATCH_USERS', 'SERVICE_TIMEZONE'] as const

/** The dependencies of running deletions. */
export interface DeletionContext extends FilesContext {
  settings: Settings<(typeof deletionSettings)[number]>
}
