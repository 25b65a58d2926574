export { joinCalls } from './joined-calls.ts'
export { oneAfterAnother } from './one-after-another.ts'
export { turnsWithRests } from './turns-with-rests.ts'
