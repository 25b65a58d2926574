import type { Settings } from '@sluice/config'
import type { FilesContext } from '@sluice/imports'

/** The settings that deletions take. */
export const deletionSettings = ['SERVICE_TIMEZONE'] as const

/** What running deletions needs. */
export interface DeletionContext extends FilesContext {
  settings: Settings<(typeof deletionSettings)[number]>
}
