import { importOverview, listWorkers, mailOverview, rowsByMinute } from '@sluice/operations'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'
import { mountBoard } from './board.ts'
import { overviewContent } from './overview-page.ts'

/** Adds the operators' pages: the overview of all apps, and the queue board. */
export const queueRoutes: PageRoutes = (dashboard, context) => {
  const { db, queueStore } = context
  dashboard.get('/queues', { config: { access: 'operators' } }, async (request, reply) => {
    const [imports, workers, mails, rows] = await Promise.all([
      importOverview(db),
      listWorkers(db),
      mailOverview(db),
      rowsByMinute(db),
    ])
    const content = overviewContent(request, { imports, workers, mails, rows, now: new Date() })
    return sendPage(reply, { title: 'Queues', area: 'queues', content, scripts: ['refresh-parts.ts'] })
  })
  mountBoard(dashboard, queueStore, context)
}
