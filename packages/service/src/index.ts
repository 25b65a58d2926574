export { closeConnections } from './close-connections.ts'
export { countConnections, exposition, type Metrics, openMetrics, requestHistogram } from './metrics.ts'
export { isReady, openReadiness, type Readiness } from './readiness.ts'
export { type RunningService, runService, type ServiceOperations } from './run.ts'
