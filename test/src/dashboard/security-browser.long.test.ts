import { addMember } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openBrowser, openWindow } from './browser.ts'
import { hostile } from './hostile.ts'
import { openSampleApp } from './sample-app.ts'
import { openApp, openOperator, openTestDashboard } from './test-dashboard.ts'

const dashboard = openBeforeAll(openTestDashboard)
let ownApp: number
beforeAll(async () => {
  ;({ appId: ownApp } = await openSampleApp(dashboard, 'Own', 'anna@example.com'))
  await openOperator(dashboard)
})

describe.skipIf(inject('chromium') === undefined)('hostile text in a name, key, value or ID', () => {
  test('is shown as text on every page', async () => {
    const { appId } = await openApp(dashboard, hostile, 'careful@example.com')
    await sql`insert into profile_keys (app_id, key, type) values (${appId}, ${hostile}, 'string')`.execute(
      dashboard.db,
    )
    await sql`insert into users (app_id, user_id) values (${appId}, ${hostile})`.execute(dashboard.db)
    await sql`
      insert into profiles (app_id, user_id, attributes, updated_at)
      values (${appId}, ${hostile}, hstore(${hostile}::text, ${hostile}::text), now())
    `.execute(dashboard.db)
    await dashboard.db
      .insertInto('imports')
      .values({
        app_id: appId,
        source: 'v3',
        content_type: 'text/csv',
        object_key: 'none',
        state: 'failed',
        error: hostile,
        finished_at: new Date(),
      })
      .execute()
    await addMember(dashboard.db, appId, `a'&+%26@example.com`)
    await addMember(dashboard.db, ownApp, 'careful@example.com')
    const browser = await openBrowser()
    try {
      for (const email of ['careful@example.com', 'operator@example.com']) {
        const isOperator = email.startsWith('operator')
        const { page, context, problems } = await openWindow(browser, dashboard, email)
        const user = `profiles/user?user=${encodeURIComponent(hostile)}`
        const search = `/apps?search=${encodeURIComponent(hostile)}`
        for (const path of [
          'credentials',
          'credentials/api-token',
          'profiles',
          user,
          'imports',
          'data-import',
          'deletions',
          'settings',
          search,
          ...(isOperator ? ['/queues'] : []),
        ]) {
          const answer = await page.goto(path.startsWith('/') ? path : `/apps/${appId}/${path}`)
          expect(answer?.status(), path).toBe(200)
          expect(await page.title(), path).not.toBe('broken')
          expect(await page.locator('main script, main img').count(), path).toBe(0)
          if (path.startsWith('profiles'))
            expect(await page.getByText(hostile, { exact: true }).count(), path).toBeGreaterThan(0)
        }
        expect(problems).toEqual([])
        await context.close()
      }
    } finally {
      await browser.close()
    }
  })
})
