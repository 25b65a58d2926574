// What scripts for browsers use. Nothing here needs Node.
export { ByteSplitter } from './cells.ts'
export { FileError } from './file-error.ts'
export { HeaderReader } from './header-form.ts'
export { problemOf, type RecordProblem } from './record-problems.ts'
export { type RecordBlock, RecordFramer } from './records.ts'
