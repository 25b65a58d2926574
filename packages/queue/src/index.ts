export { migrateQueue } from './backend.ts'
export { openBoardQueues } from './board.ts'
export type { Payloads, QueueName } from './payloads.ts'
export { type JobHandler, type NewJob, openQueues, type Queues } from './queues.ts'
