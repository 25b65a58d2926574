export { parseDeletionRequest } from './deletion.ts'
export { type ErrorAnswer, errors, type TextAnswer, tooManyValues } from './errors.ts'
export { type ExportAnswer, type ExportState, type ExportView, exportView, parseExportRequest } from './export.ts'
export { isIdempotencyKey } from './idempotency-key.ts'
export {
  type ImportRequest,
  type ImportState,
  type ImportView,
  type ImportWarning,
  importSources,
  importStates,
  importView,
  isImportState,
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
export { clearMarkerProblem, type NewKeys, newKeysChoices, parseProfileTypes, refusedTypes } from './import-options.ts'
export { type JsonObject, messagesPerAnswer } from './json-object.ts'
export { limits } from './limits.ts'
export { isLonger, nameProblem, textProblem } from './name.ts'
export { openApiDocument } from './openapi/document.ts'
export type { ApiDocument, Content, JsonSchema, Operation, Response } from './openapi/document-types.ts'
export {
  keyProblem,
  type ProfileKeysAnswer,
  type ProfileKeyView,
  parseKeyRegistration,
  reservedName,
  typeConflicts,
  unknownType,
} from './profile-keys.ts'
export {
  type ProfileEntry,
  type ProfileUpdateAnswer,
  type ProfileUpdateRequest,
  parseProfileUpdate,
} from './profile-update.ts'
export { parseUserRegistration, type UserRegistrationAnswer } from './users.ts'
export { type ValueType, valueTypes } from './value-type.ts'
