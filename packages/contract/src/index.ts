export { parseDeletionRequest } from './deletion.ts'
export { type ErrorAnswer, errors, type TextAnswer, tooManyValues } from './errors.ts'
export { type ExportAnswer, type ExportState, type ExportView, exportView, parseExportRequest } from './export.ts'
export { isIdempotencyKey } from './idempotency-key.ts'
export {
  type ImportRequest,
  type ImportState,
  type ImportView,
  importSources,
  importStates,
  importView,
  parseImportRequest,
  type UploadDescriptor,
  unfinishedImportStates,
} from './import.ts'
export { type ImportList, type ImportListRequest, importCursor, importList, parseImportList } from './import-list.ts'
export {
  fileMessages,
  rowMessages,
  serviceErrorsColumn,
  standardPrefix,
  userIdColumn,
  valueMessages,
} from './import-messages.ts'
export { type JsonObject, messagesPerAnswer } from './json-object.ts'
export { limits } from './limits.ts'
export { isLonger, nameProblem, textProblem } from './name.ts'
export { openApiDocument } from './openapi/document.ts'
export type { ApiDocument, Content, JsonSchema, Operation, Response } from './openapi/document-types.ts'
export {
  type ProfileEntry,
  type ProfileUpdateAnswer,
  type ProfileUpdateRequest,
  parseProfileUpdate,
} from './profile-update.ts'
export { parseUserRegistration, type UserRegistrationAnswer } from './users.ts'
export { type ValueType, valueTypes } from './value-type.ts'
