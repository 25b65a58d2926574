export { openPool, type Pool, type PoolClient } from './pool.ts'
export { sendTransactionSettings } from './transaction-settings.ts'
