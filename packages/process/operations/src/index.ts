export { warnOfForeignSecrets } from './foreign-secrets.ts'
export { type Heartbeat, openHeartbeat } from './heartbeat.ts'
export {
  type HistoryPeriod,
  type HistorySlot,
  historyPeriods,
  historyRecordedAt,
  readHistory,
  recordHistory,
} from './history.ts'
export {
  countActive,
  type Failure,
  type ImportOverview,
  importOverview,
  type PausedApp,
  type Waiting,
} from './imports.ts'
export { rowsByMinute } from './throughput.ts'
export { type AliveWorker, listWorkers } from './workers.ts'
