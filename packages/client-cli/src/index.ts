export { addType, keyAndType } from './column-types.ts'
export { heldImport, type ImportSettings, runImport } from './import-file.ts'
export { describeErrors, describeImport } from './import-text.ts'
