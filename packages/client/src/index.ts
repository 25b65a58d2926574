export type {
  ExportState,
  ExportView,
  ImportChanges,
  ImportSource,
  ImportState,
  ImportView,
  ImportWarning,
  NewKeys,
  ProfileEntry,
  ProfileKeyView,
  ProfileUpdateAnswer,
  UserDocument,
} from '@sluice/contract/answers'
export type { ValueType } from '@sluice/contract/value-type'
export type { Values } from './batches.ts'
export type { ConnectionOptions } from './connection.ts'
export {
  ApiError,
  BadRequestError,
  BodyTooLargeError,
  ConflictError,
  ExportFailedError,
  ForbiddenError,
  HeadersTooLargeError,
  IdempotencyKeyInFlightError,
  IdempotencyKeyReusedError,
  ImportFailedError,
  InternalError,
  InvalidProfileError,
  LinkExpiredError,
  MalformedProfileUpdateError,
  NetworkError,
  NotFoundError,
  RefusedFileError,
  RequestTimeoutError,
  SluiceError,
  TooManyRequestsError,
  UnauthorizedError,
  UnavailableError,
  UnexpectedAnswerError,
  UnregisteredUserError,
  UnsupportedContentTypeError,
  UploadError,
} from './errors.ts'
export type { ExportedFile, ExportOptions, ExportProgress } from './export-file.ts'
export type { HoldBounds, ImportOptions, ImportProgress } from './import-file.ts'
export { type CallOptions, type ImportFilters, Sluice, type UndoOptions } from './sluice.ts'
