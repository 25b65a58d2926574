export { openPool, type Pool } from './pool.ts'
export { sendTransactionSettings } from './transaction-settings.ts'
