import assert from 'node:assert/strict'
import { createAccessKey } from '@sluice/access-keys'
import { readSettings } from '@sluice/config'
import { claimExport, exportSettings, runExport } from '@sluice/exports'
import { pino } from 'pino'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectAccessible, openBrowser, openContext, openWindow, phone, takePictures } from './browser.ts'
import { openSampleApp, secondMember } from './sample-app.ts'
import { encryptionKeys, openOperator, openTestDashboard, type TestDashboard } from './test-dashboard.ts'

describe.skipIf(inject('chromium') === undefined)('pages in a browser', () => {
  let dashboard: TestDashboard
  let browser: Browser
  let appId: number
  let accessKeyId: string
  beforeAll(async () => {
    dashboard = await openTestDashboard()
    ;({ appId } = await openSampleApp(dashboard, 'Corner shop', 'anna@example.com'))
    ;({ accessKeyId } = await createAccessKey(dashboard.db, encryptionKeys, appId))
    await openSampleApp(dashboard, 'Second shop', 'anna@example.com')
    await openOperator(dashboard)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await dashboard.close()
  })

  const pages = () =>
    ({
      apps: ['/apps', 'Apps'],
      credentials: [`/apps/${appId}/credentials`, 'Credentials'],
      'credentials-confirm': [`/apps/${appId}/credentials/api-token`, 'Register a new API token'],
      'credentials-deletion': [
        `/apps/${appId}/credentials/access-keys/delete?key=${accessKeyId}`,
        'Delete an access key',
      ],
      profiles: [`/apps/${appId}/profiles`, 'Profiles'],
      'profiles-user': [`/apps/${appId}/profiles/user?user=user-2`, 'One user'],
      'profiles-nobody': [`/apps/${appId}/profiles/user?user=nobody`, 'One user'],
      'profiles-key': [`/apps/${appId}/profiles/key?key=plan`, 'Key plan'],
      help: ['/help', 'Help'],
      deletions: [`/apps/${appId}/deletions`, 'Deletions'],
      settings: [`/apps/${appId}/settings`, 'Settings'],
      'settings-removal': [`/apps/${appId}/settings/members/remove?member=${secondMember}`, 'Remove a member'],
      'not-found': ['/nowhere', 'Not found'],
    }) as const

  test('every page of a member is accessible, fits a phone, and violates no policy', async () => {
    const { page, context, problems } = await openWindow(browser, dashboard, 'anna@example.com')
    for (const [name, [address, title]] of Object.entries(pages())) {
      await page.goto(address)
      await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
      await expectAccessible(page)
      await takePictures(page, name)
    }
    expect(problems.filter((problem) => !/404/.test(problem))).toEqual([])
    await context.close()
  })

  test('on a phone, the areas are behind a menu that needs no scripts, so the heading is at the top', async () => {
    const { context } = await openWindow(browser, dashboard, 'operator@example.com')
    const onPhone = await openContext(browser, dashboard, {
      viewport: phone,
      javaScriptEnabled: false,
    })
    await onPhone.addCookies(await context.cookies())
    const page = await onPhone.newPage()
    const areas = page.getByRole('navigation', { name: 'Areas' })
    const menu = areas.locator('summary', { hasText: 'Menu' })
    for (const [address, link] of [
      [`/apps/${appId}/imports`, 'Webhooks'],
      ['/queues', 'All imports'],
    ] as const) {
      await page.setViewportSize(phone)
      await page.goto(address)
      const heading = await page.getByRole('heading', { level: 1 }).boundingBox()
      expect((heading?.y ?? 844) + (heading?.height ?? 0), `end of the heading of ${address}, px`).toBeLessThan(200)
      await menu.focus()
      for (const expected of [true, false]) {
        await page.keyboard.press('Enter')
        expect(await areas.getByRole('link', { name: link, exact: true }).isVisible()).toBe(expected)
      }
      await page.setViewportSize({ width: 1280, height: 800 })
      expect([await menu.isVisible(), await areas.getByRole('link', { name: link, exact: true }).isVisible()]).toEqual([
        false,
        true,
      ])
    }
    await page.setViewportSize(phone)
    await page.goto(`/apps/${appId}/imports`)
    await menu.click()
    await takePictures(page, 'menu-open')
    await onPhone.close()
    await context.close()
  })

  test('a member who replaces the API token sees the new token once', async () => {
    const { appId } = await openSampleApp(dashboard, 'Token shop', 'token@example.com')
    const { page, context, problems } = await openWindow(browser, dashboard, 'token@example.com')
    await page.goto(`/apps/${appId}/credentials`)
    await page.getByRole('link', { name: 'Register a new API token…' }).click()
    await page.getByRole('button', { name: /^Replace …/ }).click()
    const token = await page.getByLabel('New API token').textContent()
    expect(token).toMatch(new RegExp(`^slc_${appId}_[\\w-]{43}$`))
    await expectAccessible(page)
    await takePictures(page, 'credentials-new')
    await page.getByRole('link', { name: 'I have stored it' }).click()
    await page
      .getByText(`…${token?.slice(-4)}`)
      .first()
      .waitFor()
    expect(await page.content()).not.toContain(token)
    await page.goBack()
    await page.getByRole('heading', { name: 'Register a new API token' }).waitFor()
    expect(problems).toEqual([])
    await context.close()
  })

  test('saved settings are reported once, and after a refused bound the address is that of the page', async () => {
    const { appId } = await openSampleApp(dashboard, 'Settings shop', 'settings@example.com')
    const { page, context } = await openWindow(browser, dashboard, 'settings@example.com')
    await page.goto(`/apps/${appId}/settings`)
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByText('Saved.').waitFor()
    await expectAccessible(page)
    await takePictures(page, 'settings-saved')
    await page.reload()
    expect(await page.getByText('Saved.').count()).toBe(0)
    const bound = page.getByLabel('Percent of rows with errors')
    await page.evaluate("document.querySelector('[name=hold_failed_percent]').type = 'text'")
    await bound.fill('1e1')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').waitFor()
    expect(await bound.inputValue()).toBe('1e1')
    expect(new URL(page.url()).pathname).toBe(`/apps/${appId}/settings`)
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.goBack()
    await page.getByRole('heading', { name: 'Members' }).waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    await context.close()
  })

  test('a copy button copies a new token and announces it; without scripts there is none', async () => {
    const { appId } = await openSampleApp(dashboard, 'Copy shop', 'copy@example.com')
    const { page, context, problems } = await openWindow(browser, dashboard, 'copy@example.com')
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`/apps/${appId}/credentials/api-token`)
    await page.getByRole('button', { name: /^Replace …/ }).click()
    const token = await page.getByLabel('New API token').textContent()
    await page.getByRole('button', { name: 'Copy API token' }).click()
    await page.getByRole('status').filter({ hasText: 'Copied' }).waitFor({ state: 'attached' })
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token)
    expect(problems).toEqual([])
    const reader = await browser.newContext({ baseURL: dashboard.url, javaScriptEnabled: false })
    await reader.addCookies(await context.cookies())
    const still = await reader.newPage()
    await still.goto(`/apps/${appId}/credentials`)
    await still.getByRole('heading', { name: 'Access keys' }).waitFor()
    expect(await still.getByRole('button', { name: /^Copy/ }).count()).toBe(0)
    await reader.close()
    await context.close()
  })

  // changes.md §4.
  test('a member describes and disables a key, and enables it again', async () => {
    const { appId } = await openSampleApp(dashboard, 'Key shop', 'keys@example.com')
    const { page, context, problems } = await openWindow(browser, dashboard, 'keys@example.com')
    await page.goto(`/apps/${appId}/profiles`)
    await page.getByRole('heading', { name: '5 of 500 keys' }).waitFor()
    await page.getByRole('link', { name: 'Change plan' }).click()
    await page.getByLabel('Description').fill('The plan that a customer pays for, as the billing system names it')
    await page.getByRole('button', { name: 'Save the description' }).click()
    await page.getByText('The plan that a customer pays for').waitFor()
    await page.getByRole('link', { name: 'Change plan' }).click()
    await page.getByRole('button', { name: 'Disable plan' }).click()
    await page.getByRole('heading', { name: '4 of 500 keys' }).waitFor()
    expect(await page.getByRole('checkbox', { name: 'Export plan' }).count()).toBe(0)
    await expectAccessible(page)
    await takePictures(page, 'profiles-disabled')
    await page.getByRole('link', { name: 'Change plan' }).click()
    await page.getByRole('button', { name: 'Enable plan' }).waitFor()
    await expectAccessible(page)
    await takePictures(page, 'profiles-key-disabled')
    await page.getByRole('button', { name: 'Enable plan' }).click()
    await page.getByRole('heading', { name: '5 of 500 keys' }).waitFor()
    expect(problems).toEqual([])
    await context.close()
  })

  test('an export of ticked keys shows by itself that it has ended, and a deletion asks first', async () => {
    const { appId } = await openSampleApp(dashboard, 'Export shop', 'export@example.com')
    const { page, context, problems } = await openWindow(browser, dashboard, 'export@example.com')
    await page.goto(`/apps/${appId}/profiles`)
    await page.getByRole('checkbox', { name: 'Export plan' }).check()
    await page.getByText('Export all profiles').click()
    await page.getByRole('button', { name: 'Request an export' }).click()
    await page.getByText('Queued').waitFor()
    const { db, storage } = dashboard
    const settings = readSettings({}, exportSettings)
    const exporting = { db, storage, settings, log: pino({ level: 'silent' }) }
    const claim = await claimExport(exporting)
    assert(claim)
    expect(claim.keys).toEqual(['plan'])
    await runExport(exporting, claim, new AbortController().signal)
    await page.getByRole('link', { name: 'Download' }).waitFor()
    await expectAccessible(page)
    await takePictures(page, 'profiles-export')
    await page.getByText('Delete users').click()
    await page.getByLabel(/^User IDs/).fill('user-1\nuser-2\nnobody')
    await page.getByRole('button', { name: 'Continue…' }).click()
    await page.getByRole('button', { name: 'Delete 3 users' }).waitFor()
    await expectAccessible(page)
    await takePictures(page, 'profiles-deletion')
    await page.getByRole('button', { name: 'Delete 3 users' }).click()
    await page.getByRole('cell', { name: 'dashboard' }).waitFor()
    expect(problems).toEqual([])
    await context.close()
  })

  test('times are shown in the reader’s time zone, or in UTC if no script runs', async () => {
    await dashboard.db
      .updateTable('api_tokens')
      .set({ created_at: '2026-03-07T23:30:00Z' })
      .where('app_id', '=', appId)
      .execute()
    const { context } = await openWindow(browser, dashboard, 'anna@example.com')
    const cookies = await context.cookies()
    await context.close()
    for (const [options, expected, zone] of [
      [{ timezoneId: 'Asia/Tokyo' }, 'Mar 8, 2026, 8:30 AM', 'Asia/Tokyo'],
      [{ timezoneId: 'Asia/Tokyo', javaScriptEnabled: false }, '2026-03-07 23:30 UTC', 'UTC'],
    ] as const) {
      const reader = await browser.newContext({ baseURL: dashboard.url, locale: 'en-US', ...options })
      await reader.addCookies(cookies)
      const page = await reader.newPage()
      await page.goto(`/apps/${appId}/credentials`)
      await expect
        .poll(async () => (await page.locator('time').first().textContent())?.replace(/\s/g, ' '))
        .toBe(expected)
      await page.getByText(`Times are in ${zone}.`).waitFor()
      await page.goto(`/apps/${appId}/data-import`)
      expect(await page.getByText('Times are in').isVisible()).toBe(false)
      await reader.close()
    }
  })

  test('a member who creates an access key sees the secret once', async () => {
    const { page, context, problems } = await openWindow(browser, dashboard, 'anna@example.com')
    await page.goto(`/apps/${appId}/credentials`)
    await page.getByRole('button', { name: 'Create an access key' }).click()
    const secret = await page.getByLabel('Secret access key', { exact: true }).textContent()
    expect(secret).toMatch(/^[\w-]{40}$/)
    await expectAccessible(page)
    await takePictures(page, 'credentials-new-key')
    await page.getByRole('link', { name: 'I have stored it' }).click()
    await page.getByRole('heading', { name: 'Access keys' }).waitFor()
    expect(await page.content()).not.toContain(secret)
    expect(problems).toEqual([])
    await context.close()
  })

  test('a chosen theme stays, whatever the system prefers', async () => {
    const { page, context } = await openWindow(browser, dashboard, 'anna@example.com')
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(`/apps/${appId}/deletions`)
    await page.getByRole('button', { name: 'Dark' }).click()
    await page.waitForURL(`**/apps/${appId}/deletions`)
    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await expect.poll(background).toBe('rgb(20, 23, 28)')
    await page.goto(`/apps/${appId}/settings`)
    expect(await background()).toBe('rgb(20, 23, 28)')
    await context.close()
  })

  test('the pages before sign-in are accessible, fit a phone, and violate no policy', async () => {
    const context = await openContext(browser, dashboard)
    const page = await context.newPage()
    await page.goto('/')
    await expectAccessible(page)
    await takePictures(page, 'sign-in')
    await page.getByLabel('E-mail address').fill('anna@example.com')
    await page.getByRole('button', { name: 'Send me a link' }).click()
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor()
    await expectAccessible(page)
    await takePictures(page, 'sign-in-sent')
    await context.close()
  })
})
