export { joinCalls } from './joined-calls.ts'
