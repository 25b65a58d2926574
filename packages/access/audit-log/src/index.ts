export { type AuditAction, auditActions } from './actions.ts'
export { type Actor, type AuditEvent, audited, type Outcome, outcomeOf, recordEvent } from './entries.ts'
export { type AuditLogFilter, type AuditView, auditLogPage, auditLogPages, withPausers } from './list.ts'
export { auditRoutes, type RouteAudit } from './routes.ts'
