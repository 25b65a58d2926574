import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectAccessible, openBrowser, openContext, takePictures } from '../dashboard/browser.ts'
import { openApp } from '../dashboard/test-dashboard.ts'
import { openProviderDashboard, type ProviderDashboard } from './provider-dashboard.ts'

describe.skipIf(inject('chromium') === undefined)('in a browser', () => {
  let setUp: ProviderDashboard
  let browser: Browser
  beforeAll(async () => {
    setUp = await openProviderDashboard()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await setUp.close()
  })

  test('a member signs in and out with the keyboard, and the security policy permits every step', async () => {
    const { dashboard, provider } = setUp
    const accounts = { anna: { email: 'anna@example.com', email_verified: true } }
    await provider.set({ accounts, person: 'anna' })
    await openApp(dashboard, 'Shop', 'anna@example.com')
    const context = await openContext(browser, dashboard)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('console', (message) => {
      const isOurs = message.location().url.startsWith(dashboard.url)
      if (message.type() === 'error' && isOurs) problems.push(message.text())
    })
    await page.goto('/sign-in')
    await expectAccessible(page)
    await takePictures(page, 'sign-in-provider')
    await page.getByRole('link', { name: 'Sign in with' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/apps\/\d+\/imports/)
    await page.getByRole('button', { name: 'Sign out' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(new RegExp(`^${provider.issuer}/`))
    expect(problems).toEqual([])
    await context.close()
  })

  test('the pages of refusals and failures are accessible and fit a phone', async () => {
    const { dashboard, provider } = setUp
    const context = await openContext(browser, dashboard)
    const page = await context.newPage()
    const accounts = { stranger: { email: 'stranger@example.com', email_verified: true } }
    for (const [name, title, state] of [
      ['sign-in-no-access', 'You may not sign in', { accounts, person: 'stranger' }],
      ['sign-in-refused', 'You are not signed in', { accounts }],
    ] as const) {
      await provider.set(state)
      await context.clearCookies()
      await page.goto('/sign-in/provider')
      await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
      await expectAccessible(page)
      await takePictures(page, name)
    }
    await context.close()
  })
})
