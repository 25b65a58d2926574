export { type DeletionContext, deletionRequestSettings, deletionSettings } from './context.ts'
export { requestDeletion } from './request.ts'
export { type DeletionRun, runDeletions } from './run.ts'
export { type DeletionRequestView, listDeletions, showUserDeletion } from './view.ts'
