export * from './answers.ts'
export { type Checked, checkRequest, documented, documentedAll, listOf, member, nameOf } from './check.ts'
export { type MappedColumn, parseColumnMapping, parseColumnNames } from './column-mapping.ts'
export { type ErrorAnswer, errors, notAnObject, notJson, type TextAnswer, tooManyValues } from './errors.ts'
export {
  boundLabels,
  type HoldBound,
  type HoldIf,
  holdBounds,
  holdIfOf,
  holdIfText,
  holdReasonText,
  parseHoldIf,
} from './hold-if.ts'
export { isIdempotencyKey } from './idempotency-key.ts'
export { type ImportListRequest, importCursor, importListQuery, importWaitQuery } from './import-list.ts'
export {
  fileMessages,
  keyMessages,
  rowMessages,
  serviceErrorsColumn,
  standardPrefix,
  userIdColumn,
  valueMessages,
  withoutFigures,
} from './import-messages.ts'
export {
  clearMarkerProblem,
  type ImportRequest,
  importRequest,
  parseProfileTypes,
  refusedTypes,
} from './import-request.ts'
export { isJsonObject, JsonNumber, type JsonObject } from './json-object.ts'
export { limits } from './limits.ts'
export { isLonger, nameProblem, textProblem } from './name.ts'
export { keyChange, keyProblem, keyRegistration, reservedName, typeConflicts, unknownType } from './profile-keys.ts'
export { isUuid, parseFileToken } from './uuid.ts'
export { type ValueType, valueTypes } from './value-type.ts'
export { type WebhookBody, type WebhookEvent, webhookEvents, webhookTest } from './webhook.ts'
