export { findColumnMapping, forgetColumnMapping, type KeptMapping, keepColumnMapping } from './column-mappings.ts'
export {
  type BatchObserver,
  type ImportContext,
  type ImportId,
  importSettings,
  type ReceiveContext,
  receiveSettings,
} from './context.ts'
export { sweepFiles, sweepFilesOfApp, sweepLater } from './file/file-sweeps.ts'
export { importPrefix, uploadKey } from './file/object-keys.ts'
export { uncompressedSize } from './file/uncompressed-size.ts'
export { removeOldImports } from './history.ts'
export { noticeUploads } from './intake/notice-uploads.ts'
export { type QueuedFile, queueStoredFile } from './intake/queue-stored-file.ts'
export { receiveDashboardFile, type UploadedFile } from './intake/receive-dashboard-file.ts'
export { type ReceivedImport, receiveV2File } from './intake/receive-v2-file.ts'
export { importCheckedFile, RetryRefused, retryImport } from './intake/retry.ts'
export { lastUndoDryRun, UndoRefused, undoImport } from './intake/undo.ts'
export { openUploadWatch, type UploadWatch, uploadWatchSettings } from './intake/upload-watch.ts'
export { renewUpload, requestImport } from './intake/v3-request.ts'
export { TooManyWaiting, withinWaitingLimit } from './intake/waiting-limit.ts'
export type { GivenOptions } from './options.ts'
export { type Approval, approveImport } from './order/approve.ts'
export { type Backlog, importBacklog } from './order/backlog.ts'
export { type Cancellation, cancelImport, cancelImportsOfApp, isCancellable } from './order/cancel.ts'
export { type ClaimedImport, claimImport } from './order/claim.ts'
export { type Dispatcher, dispatchImports, openWaker, type WakeWorker } from './order/dispatch.ts'
export { claimNext, withdrawNext } from './order/fair-order.ts'
export {
  cancelMany,
  findImportsToCancel,
  findImportsToRetry,
  type ManyFilter,
  type OneOfMany,
  retryImports,
} from './order/many.ts'
export { dispatchNextInOrder, dispatchSettings } from './order/next-in-order.ts'
export { findPauses, type Pauses, pauseImports, resumeImports } from './order/pause.ts'
export { type ChangedValue, changedValues } from './result/changed-values.ts'
export { makeRoomAfter, reserveDisk } from './result/disk-full.ts'
export { dropErrorRows } from './result/drop-rows.ts'
export { type ErrorRows, errorRows } from './result/error-rows.ts'
export { followFileLink, openErrorFile } from './result/file-link.ts'
export { reportCancelled } from './result/report.ts'
export {
  type FilesContext,
  forgetFileTraces,
  removeFilesOfApp,
  removeOldFiles,
  removeStoredChecks,
} from './retention.ts'
export { runImport } from './run/run-import.ts'
export { removeUndoLines } from './run/undo-lines.ts'
export { isAllowedChange, unfinishedStates } from './states.ts'
export {
  type FilterTexts,
  type FoundImport,
  type FoundImports,
  findImports,
  type ImportFilter,
  parseImportFilter,
  shortestText,
} from './view/all-imports.ts'
export { type ImportDetails, showDetails, type Wait } from './view/details.ts'
export { openStateWatch, type StateWatch } from './view/state-watch.ts'
export { findAppOfImport, type ImportSummary, pageOfImports, showImport, showImports } from './view/view.ts'
