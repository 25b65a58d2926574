import type { Browser } from 'playwright-core'
import { beforeAll, describe, inject } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openBrowser, openWindow } from './browser.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'

/** Opens a window in which this person is signed in. */
type OpenWindow = (email: string) => ReturnType<typeof openWindow>

/** Groups tests in Chromium, which share a dashboard. Skips them if there is no Chromium. */
export function describeInBrowser(tests: (dashboard: TestDashboard, openWindow: OpenWindow) => void): void {
  describe.skipIf(inject('chromium') === undefined)('in a browser', () => {
    const dashboard = openBeforeAll(openTestDashboard)
    let browser: Browser
    beforeAll(async () => {
      browser = await openBrowser()
      return () => browser.close()
    })
    tests(dashboard, (email) => openWindow(browser, dashboard, email))
  })
}
