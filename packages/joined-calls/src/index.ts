export { joinCalls } from './joined-calls.ts'
export { oneAfterAnother } from './one-after-another.ts'
