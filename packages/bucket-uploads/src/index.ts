export { type RemovalContext, removeAbandonedUploads, removeUploadsBeforeDeletion } from './abandoned-uploads.ts'
export type { BucketUploadContext, MaintenanceContext } from './context.ts'
export { type DroppedFile, findFile, findImportedFile, listFiles } from './files.ts'
export { reservePart } from './part-sizes.ts'
export { type FileKey, fileNameProblem, fileSizeProblem, hasDotSegment, parseKey, pathOf } from './path.ts'
export { importUnannouncedFiles } from './unannounced-files.ts'
export type { UploadOrigin } from './upload-hash.ts'
export {
  beginUpload,
  beginUploadInParts,
  findUpload,
  finishUpload,
  forgetUpload,
  listUploads,
  type Upload,
} from './uploads.ts'
