import { readSettings } from '@sluice/config'
import { openUploadLimiter, uploadLimitSettings } from '@sluice/dashboard-app/src/data-import/upload-limiter.ts'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { openApp, openTestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

// design.md §3, Waiting imports.
test('the uploads of an app in a window are limited, whichever member sends them, and other apps are unaffected', async () => {
  let close = async () => {}
  const dashboard = await openTestDashboard(async ({ url }) => {
    const settings = readSettings(
      { RATE_LIMIT_DASHBOARD_IMPORT: '2/1h', RATE_LIMIT_TIMEOUT: '1m' },
      uploadLimitSettings,
    )
    const uploadLimiter = await openUploadLimiter({ databaseUrl: url }, settings, pino({ level: 'silent' }))
    close = uploadLimiter.close
    return { uploadLimiter }
  })
  onTestFinished(async () => {
    await close()
    await dashboard.close()
  })
  const [{ appId }, other] = [await openApp(dashboard), await openApp(dashboard, 'Other')]
  const visitor = await signIn(dashboard, 'member@example.com')
  const post = (app: number, way = '') =>
    visitor.postFile(
      `/apps/${app}/data-import`,
      'a.csv',
      new Blob(['user_id,n\nu1,1\n']),
      `/apps/${app}/data-import${way}`,
    )
  const [upload, dryRun] = [await post(appId), await post(appId, '/dry-run')]
  expect([upload.status, dryRun.status]).toEqual([303, 303])
  const refused = await post(appId)
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3000)
  expect(refused.text).toContain('Too many files were uploaded lately. Please try again in 60 minutes.')
  expect((await visitor.post(`${dryRun.headers.get('location')}/import`)).status).toBe(429)
  expect((await post(other.appId)).status).toBe(303)
})

test('the uploads of an app start one after the other, so that many at once do not slow other apps down', async () => {
  const dashboard = await openTestDashboard()
  onTestFinished(dashboard.close)
  const { appId } = await openApp(dashboard)
  const visitor = await signIn(dashboard, 'member@example.com')
  const path = `/apps/${appId}/data-import`
  const began = performance.now()
  const answers = await Promise.all(
    [1, 2, 3, 4, 5].map((user) => visitor.postFile(path, 'a.csv', new Blob([`user_id,n\nu${user},1\n`]), path)),
  )
  expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303, 303])
  // Four pauses of 150 ms. Each timer may end up to a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(596)
})
