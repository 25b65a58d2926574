export { type Backlog, importBacklog } from './backlog.ts'
export { type Cancellation, cancelImport, isCancellable } from './cancel.ts'
export { type Claim, claimImport } from './claim.ts'
export {
  type BatchObserver,
  type CommittedBatch,
  type ImportContext,
  type ImportId,
  importSettings,
  type ReceiveContext,
  receiveSettings,
} from './context.ts'
export { type ImportDetails, type ListedImport, listImportsBefore, showDetails, type Wait } from './details.ts'
export { makeRoomAfter, reserveDisk } from './disk-full.ts'
export { dropErrorRows } from './drop-error-rows.ts'
export { followErrorLink } from './error-link.ts'
export { type ErrorRows, errorRows } from './error-rows.ts'
export { claimNext, countWaiting, returnTurn } from './fair-order.ts'
export { sweepFiles, sweepFilesOfApp, sweepLater } from './file-sweeps.ts'
export { takeTurns } from './line.ts'
export { importPrefix, uploadKey } from './object-keys.ts'
export { type QueuedFile, queueStoredFile } from './queue-stored.ts'
export { type ReceivedImport, receiveImport } from './receive.ts'
export { receiveUpload, type UploadedFile } from './receive-upload.ts'
export { reportCancelled } from './report.ts'
export { requestImport } from './request.ts'
export { type FilesContext, forgetFileNames, removeFilesOfApp, removeOldFiles } from './retention.ts'
export { runImport } from './run.ts'
export { uncompressedSize } from './uncompressed-size.ts'
export { noticeUploads } from './uploads.ts'
export { listImports, showImport } from './view.ts'
export { TooManyWaiting, withinWaitingLimit } from './waiting-limit.ts'
