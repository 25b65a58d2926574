export { addType, keyAndType } from './column-types.ts'
export { heldImport, type ImportSettings, runImport } from './import-file.ts'
export { describeWithErrors } from './import-text.ts'
