import { type AuditAction, auditLogPage } from '@sluice/audit-log'
import { openApp, openOperator, openTestDashboard, type TestDashboard } from '../dashboard/test-dashboard.ts'
import { signIn, type Visitor } from '../dashboard/visitor.ts'

/** A dashboard with an app, in which a member and an operator are signed in. */
export interface AuditedDashboard {
  dashboard: TestDashboard
  appId: number
  operator: Visitor
  asMember(path: string, fields?: Record<string, string>, from?: string): ReturnType<Visitor['post']>
  asOperator(path: string, from: string): ReturnType<Visitor['post']>
  settings: string
  dataImport: string
  profiles: string
  webhooks: string
}

export async function openAuditedDashboard(): Promise<AuditedDashboard> {
  const dashboard = await openTestDashboard()
  await openOperator(dashboard)
  const { appId } = await openApp(dashboard, 'Shop', 'anna@example.com')
  const member = await signIn(dashboard, 'anna@example.com')
  const operator = await signIn(dashboard, 'operator@example.com')
  return {
    dashboard,
    appId,
    operator,
    asMember: (path, fields = {}, from) => member.post(path, fields, from),
    asOperator: (path, from) => operator.post(path, {}, from),
    settings: `/apps/${appId}/settings`,
    dataImport: `/apps/${appId}/data-import`,
    profiles: `/apps/${appId}/profiles`,
    webhooks: `/apps/${appId}/webhooks`,
  }
}

/** What somebody does on a page, and the target that the log names. */
export interface Action {
  what: AuditAction
  do(site: AuditedDashboard): Promise<{ status: number; target?: string | null }>
  by?: 'operator' | 'guest'
  /** The status of the answer if it is not 303. */
  status?: number
  /** The event concerns all apps. */
  ofAll?: true
}

export const columnMapping = {
  columns: '["ID"]',
  mapping: '[{"name":"ID","key":"user_id","left_out":false,"form":"as-is"}]',
}

export const newest = async (db: TestDashboard['db']) => (await auditLogPage(db, {}, 1)).entries[0]
