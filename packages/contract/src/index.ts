export { type ErrorAnswer, errors } from './errors.ts'
export { type ImportRequest, type ImportView, importView, parseImportRequest, type UploadDescriptor } from './import.ts'
export { limits } from './limits.ts'
export { type ValueType, valueTypes } from './value-type.ts'
