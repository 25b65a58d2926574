import { openQueues } from '@sluice/queue'
import type { Action } from './audited-dashboard.ts'

/** Forms of operators. Each leaves an entry. */
export const operatorForms: Record<string, Action> = {
  'POST /apps/:appId/operation/pause': {
    what: 'app.pause',
    by: 'operator',
    do: (site) => site.asOperator(`/apps/${site.appId}/operation/pause`, `/apps/${site.appId}/operation`),
  },
  'POST /apps/:appId/operation/resume': {
    what: 'app.resume',
    by: 'operator',
    do: (site) => site.asOperator(`/apps/${site.appId}/operation/resume`, `/apps/${site.appId}/operation`),
  },
  'POST /apps/:appId/operation/limits': {
    what: 'app.limits',
    by: 'operator',
    async do(site) {
      const address = `/apps/${site.appId}/operation`
      const fields = { bulk_import: '100/10m', profile_keys: '' }
      const answer = await site.operator.post(`${address}/limits`, fields, address)
      return { ...answer, target: 'bulk imports 100/10m, profile keys default' }
    },
  },
  'POST /imports/retry': {
    what: 'import.retry',
    by: 'operator',
    ofAll: true,
    status: 200,
    do: async (site) => ({ ...(await site.asOperator('/imports/retry', '/queues')), target: '0 imports of 0 apps' }),
  },
  'POST /imports/cancel': {
    what: 'import.cancel',
    by: 'operator',
    ofAll: true,
    status: 200,
    do: async (site) => ({ ...(await site.asOperator('/imports/cancel', '/queues')), target: '0 imports of 0 apps' }),
  },
  'POST /queues/pause': {
    what: 'service.pause',
    by: 'operator',
    ofAll: true,
    do: (site) => site.asOperator('/queues/pause', '/queues'),
  },
  'POST /queues/resume': {
    what: 'service.resume',
    by: 'operator',
    ofAll: true,
    do: (site) => site.asOperator('/queues/resume', '/queues'),
  },
  'POST /queues/jobs/:queue/pause': {
    what: 'queue.change',
    by: 'operator',
    ofAll: true,
    do: async (site) => ({
      ...(await site.asOperator('/queues/jobs/mails/pause', '/queues/jobs')),
      target: 'pause mails',
    }),
  },
  'POST /queues/jobs/:queue/resume': {
    what: 'queue.change',
    by: 'operator',
    ofAll: true,
    do: async (site) => ({
      ...(await site.asOperator('/queues/jobs/mails/resume', '/queues/jobs')),
      target: 'resume mails',
    }),
  },
  'POST /queues/jobs/:queue/remove': {
    what: 'queue.change',
    by: 'operator',
    ofAll: true,
    async do(site) {
      const queues = openQueues({ databaseUrl: site.dashboard.database.url }, () => {})
      await queues.add('mails', [{ id: 'a-mail', payload: { appId: site.appId, mailId: 'a-mail' } }])
      await queues.close()
      const answer = await site.operator.post('/queues/jobs/mails/remove', { job: 'a-mail' }, '/queues/jobs')
      return { ...answer, target: 'remove a-mail of mails' }
    },
  },
}
