export { closeConnections } from './close-connections.ts'
export { type RunningService, runService } from './run.ts'
