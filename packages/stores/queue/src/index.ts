export { migrateQueue } from './backend.ts'
export {
  type JobState,
  type JobView,
  jobStates,
  openInspector,
  type QueueInspector,
  type QueueView,
} from './inspector.ts'
export type { Payloads, QueueName } from './payloads.ts'
export { type JobHandler, type NewJob, openQueues, type Queues } from './queues.ts'
