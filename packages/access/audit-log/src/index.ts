export { type AuditAction, auditActions } from './actions.ts'
export {
  type Actor,
  type AuditEvent,
  audited,
  auditedByApp,
  type Outcome,
  outcomeOf,
  recordEvent,
  targetOfMany,
} from './entries.ts'
export { type AuditLogFilter, type AuditView, auditLogPage, auditLogPages, decisionsOn, withPausers } from './list.ts'
export { auditRoutes, type RouteAudit } from './routes.ts'
