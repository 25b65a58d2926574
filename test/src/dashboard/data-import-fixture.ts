import { beforeEach } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openAppWith } from './import-runs.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { signIn, type Visitor } from './visitor.ts'

/** The largest file that the form may upload, bytes. */
export const limitBytes = 150 * 2 ** 20

// A form with one file, as a browser sends it: head, content, tail.
export const boundary = 'the-boundary'
export const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
export const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\nContent-Type: text/csv\r\n\r\n`
export const tail = `\r\n--${boundary}--\r\n`

/** An app, and the path of its data import page. */
interface AppWithPage {
  appId: number
  page: string
}

/**
 * Opens a dashboard for a file, and before each test an app with these users, whose member is signed in. App and
 * visitor always are those of the current test.
 */
export function eachOnDataImport(users: readonly string[]) {
  const dashboard = openBeforeAll(openTestDashboard)
  const [app, visitor] = [{} as AppWithPage, {} as Visitor]
  beforeEach(async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    Object.assign(app, { appId, page: `/apps/${appId}/data-import` })
    Object.assign(visitor, await signIn(dashboard, email))
  })
  const importsOf = () => dashboard.db.selectFrom('imports').selectAll().where('app_id', '=', app.appId).execute()
  return { dashboard, app, visitor, importsOf }
}
