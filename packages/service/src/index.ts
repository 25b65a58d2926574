export { type RunningService, runService } from './run.ts'
