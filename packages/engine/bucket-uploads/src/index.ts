export { type RemovalContext, removeAbandonedUploads, removeUploadsBeforeDeletion } from './abandoned-uploads.ts'
export type { MaintenanceContext, UploadContext } from './context.ts'
export { findFile, findImportedFile, type ImportedFile, listFiles } from './files.ts'
export { newestFileAt } from './order-of-file.ts'
export { keepPartNames, keptPartNames } from './part-etags.ts'
export { reservePart } from './part-sizes.ts'
export { type FileKey, fileNameProblem, fileSizeProblem, hasDotSegment, parseKey, pathOf } from './path.ts'
export { removeRefusedFiles } from './refused-files.ts'
export { importUnannouncedFiles } from './unannounced-files.ts'
export type { UploadOrigin } from './upload-hash.ts'
export {
  type BucketUpload,
  beginUpload,
  beginUploadInParts,
  findUpload,
  finishUpload,
  forgetUpload,
  listUploads,
  unlessBroken,
} from './uploads.ts'
