import type { Endpoint } from '../endpoint.ts'
import { approveImport } from './approve-import.ts'
import { bulkImportV2 } from './bulk-import-v2.ts'
import { cancelImport } from './cancel-import.ts'
import { changeProfileKey } from './change-profile-key.ts'
import { docs, document, root } from './document.ts'
import { changesFile, errorFile, exportFile } from './file-links.ts'
import { getExport } from './get-export.ts'
import { getImport } from './get-import.ts'
import { getUser } from './get-user.ts'
import { guideEndpoints, llms } from './guides.ts'
import { isLive, metrics, readiness } from './health.ts'
import { listImports } from './list-imports.ts'
import { listProfileKeys } from './list-profile-keys.ts'
import { registerProfileKeys } from './register-profile-keys.ts'
import { registerUsers } from './register-users.ts'
import { removeValue } from './remove-value.ts'
import { requestBulkImport } from './request-bulk-import.ts'
import { requestDeletion } from './request-deletion.ts'
import { requestExport } from './request-export.ts'
import { undoImport } from './undo-import.ts'
import { updateProfile } from './update-profile.ts'

/**
 * Every endpoint of the API, in the order of the OpenAPI document.
 * None cancels a deletion (service.md, States and transitions).
 */
export const endpoints: readonly Endpoint[] = [
  requestDeletion,
  updateProfile,
  registerUsers,
  getUser,
  removeValue,
  listProfileKeys,
  registerProfileKeys,
  changeProfileKey,
  requestExport,
  getExport,
  exportFile,
  listImports,
  requestBulkImport,
  getImport,
  cancelImport,
  approveImport,
  undoImport,
  bulkImportV2,
  errorFile,
  changesFile,
  isLive,
  readiness,
  metrics,
  document,
  docs,
  ...guideEndpoints,
  llms,
  root,
]
