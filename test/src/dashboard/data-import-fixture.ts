import { openBeforeAll, openBeforeEach } from '../environment/opened.ts'
import { openAppWith } from './import-runs.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

/** The largest file that the form may upload, bytes. Not from `limits`: this test would follow any change of them. */
export const limitBytes = 150 * 2 ** 20

// A form with one file, as a browser sends it: head, content, tail.
export const boundary = 'the-boundary'
export const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
export const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\nContent-Type: text/csv\r\n\r\n`
export const tail = `\r\n--${boundary}--\r\n`

/**
 * Opens a dashboard for the tests of a file, and before each test an app with these users, whose member is signed in.
 * App and visitor always are those of the current test.
 */
export function eachOnDataImport(users: readonly string[]) {
  const dashboard = openBeforeAll(openTestDashboard)
  const app = openBeforeEach(async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    return { appId, email, page: `/apps/${appId}/data-import` }
  })
  const visitor = openBeforeEach(() => signIn(dashboard, app.email))
  const importsOf = () => dashboard.db.selectFrom('imports').selectAll().where('app_id', '=', app.appId).execute()
  return { dashboard, app, visitor, importsOf }
}
