export { addType, keyAndType } from './column-types.ts'
export { type ImportSettings, runImport } from './import-file.ts'
export { describeErrors, describeImport } from './import-text.ts'
