import { withPausers } from '@sluice/audit-log'
import { mailOverview } from '@sluice/mail'
import { historyRecordedAt, importOverview, listWorkers, readHistory, rowsByMinute } from '@sluice/operations'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { periodOf } from './history-charts.ts'
import { addJobPages } from './jobs-routes.ts'
import { overviewContent } from './overview-page.ts'
import { runbookContent } from './runbook.ts'

/** Adds the operators' pages: the overview of all apps, the runbook, and the jobs of the queues. */
export const queueRoutes: PageRoutes = (dashboard, context) => {
  const { db } = context
  dashboard.get('/queues', { config: { access: 'operators' } }, async (request, reply) => {
    const period = periodOf(request.query)
    const [imports, workers, mails, rows, history, maintenanceAt] = await Promise.all([
      importOverview(db),
      listWorkers(db),
      mailOverview(db),
      rowsByMinute(db),
      readHistory(db, period),
      historyRecordedAt(db),
    ])
    const overview = { imports, workers, mails, rows, history, period, maintenanceAt, now: new Date() }
    const { allPausedSince, pausedApps } = imports
    const ofAllApps = allPausedSince === undefined ? [] : [{ appId: undefined, since: allPausedSince }]
    const pauses = await withPausers(db, [...pausedApps, ...ofAllApps])
    const content = overviewContent(request, overview, {
      ofAll: pauses.find((pause) => pause.appId === undefined),
      ofApps: pauses.filter((pause) => pause.appId !== undefined),
    })
    return sendPage(reply, { title: 'Queues', area: 'queues', content, scripts: ['refresh-parts.ts'] })
  })
  dashboard.get('/queues/runbook', { config: { access: 'operators' } }, (_, reply) =>
    sendPage(reply, { title: 'Runbook', area: 'queues', content: runbookContent() }),
  )
  addJobPages(dashboard, context)
}
