export { type MappedColumn, parseColumnMapping, parseColumnNames } from './column-mapping.ts'
export { parseDeletionRequest } from './deletion.ts'
export { type ErrorAnswer, errors, type TextAnswer, tooManyValues } from './errors.ts'
export { parseExportRequest } from './export.ts'
export { isIdempotencyKey } from './idempotency-key.ts'
export {
  type ImportRequest,
  importSources,
  importStates,
  importView,
  isImportState,
  parseImportRequest,
  unfinishedImportStates,
} from './import.ts'
export { type ImportListRequest, importCursor, importList, parseImportList } from './import-list.ts'
export {
  fileMessages,
  rowMessages,
  serviceErrorsColumn,
  standardPrefix,
  userIdColumn,
  valueMessages,
} from './import-messages.ts'
export { clearMarkerProblem, newKeysChoices, parseProfileTypes, refusedTypes } from './import-options.ts'
export { JsonNumber, type JsonObject, messagesPerAnswer } from './json-object.ts'
export { limits } from './limits.ts'
export { isLonger, nameProblem, textProblem } from './name.ts'
export { openApiDocument } from './openapi/document.ts'
export type { ApiDocument, Content, JsonSchema, Operation, Response } from './openapi/document-types.ts'
export {
  keyProblem,
  parseKeyRegistration,
  reservedName,
  typeConflicts,
  unknownType,
} from './profile-keys.ts'
export { type ProfileUpdateRequest, parseProfileUpdate } from './profile-update.ts'
export { parseUserRegistration } from './users.ts'
export { isUuid, parseFileToken } from './uuid.ts'
export { type ValueType, valueTypes } from './value-type.ts'
export { type WebhookBody, type WebhookEvent, webhookEvents, webhookTest } from './webhook.ts'
export type {
  ExportAnswer,
  ExportState,
  ExportView,
  ImportList,
  ImportSource,
  ImportState,
  ImportView,
  ImportWarning,
  NewKeys,
  ProfileEntry,
  ProfileKeysAnswer,
  ProfileKeyView,
  ProfileUpdateAnswer,
  UploadDescriptor,
  UserDocument,
  UserRegistrationAnswer,
} from './wire-types.ts'
